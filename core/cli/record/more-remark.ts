/** The remark on standard error that a list was cut at its limit. */
import pc from 'picocolors';

export const moreRemark = (limit: number): string =>
  pc.dim(`There are more: --limit ${limit * 2} shows twice as many\n`);
