/** The settings that a cassette may choose for a statement, and their bounds. */
import { refused } from './statement-refusals.ts';

export type CallSettings = Readonly<Partial<Record<string, string | number | boolean>>>;

const MOST_KB = 256 * 1024;

/** Parsers of values, to the text that PostgreSQL takes; null: invalid. (contract.ts, `DB_SETTINGS`) */
const SETTINGS: Readonly<Record<string, (value: string) => string | null>> = {
  'hnsw.ef_search': integer(1, 1000),
  'hnsw.iterative_scan': (value) => (/^(off|relaxed_order|strict_order)$/.test(value) ? value : null),
  'hnsw.max_scan_tuples': integer(1, 2 ** 31 - 1),
  'ivfflat.probes': integer(1, 32_768),
  enable_seqscan: onOrOff,
  enable_indexscan: onOrOff,
  work_mem: memory,
  maintenance_work_mem: memory,
  jit: onOrOff,
};

/** Names and values for `set_config`. @throws {DatabaseError} */
export function checkedSettings(settings: CallSettings = {}): [name: string, value: string][] {
  return Object.entries(settings).flatMap(([name, requested]) => {
    if (requested === undefined) return [];
    const parse = Object.hasOwn(SETTINGS, name) ? SETTINGS[name] : undefined;
    if (!parse) throw refused(`'${name}' is no setting for cassettes; these are: ${Object.keys(SETTINGS).join(', ')}`);
    const value = parse(String(requested));
    if (value === null) throw refused(`${name} cannot be '${String(requested).slice(0, 40)}'`);
    return [[name, value]];
  });
}

export const settingNames = (): string[] => Object.keys(SETTINGS);

function integer(min: number, max: number) {
  return (value: string) => (/^\d{1,10}$/.test(value) && Number(value) >= min && Number(value) <= max ? value : null);
}

function onOrOff(value: string): string | null {
  if (/^(on|true)$/.test(value)) return 'on';
  return /^(off|false)$/.test(value) ? 'off' : null;
}

/** A bare number is kB, as PostgreSQL has it. */
function memory(value: string): string | null {
  const [, digits = '', unit = 'kB'] = /^(\d{1,9})(kB|MB)?$/.exec(value) ?? [];
  const kilobytes = Number(digits) * (unit === 'MB' ? 1024 : 1);
  return digits !== '' && kilobytes >= 64 && kilobytes <= MOST_KB ? `${kilobytes}kB` : null;
}
