/** The remark on standard error that a list was cut at its limit. */
import pc from 'picocolors';

/** @param most that a list can have, whatever its limit */
export function moreRemark(limit: number, most = Number.POSITIVE_INFINITY): string {
  if (limit >= most) return pc.dim(`There may be more: a list has ${most} at most\n`);
  const more =
    limit * 2 <= most ? `--limit ${limit * 2} shows twice as many` : `--limit ${most} shows all that there can be`;
  return pc.dim(`There are more: ${more}\n`);
}
