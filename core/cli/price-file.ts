/** The operator's own prices: reads `pricing.file`, once, when the service starts. */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { OperatorError } from '../errors.ts';
import { type PriceTable, parsePriceTable } from '../price/price-file.ts';

/**
 * @param path as configured; '' is none
 * @param base the folder of a relative path
 * @throws {OperatorError} status 2, when the file cannot be read or is not such a table
 */
export async function readPriceTable(path: string, base: string): Promise<PriceTable | null> {
  if (path === '') return null;
  const file = resolve(base, path);
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new OperatorError(`Cannot read pricing.file '${file}': ${reason(error)}`, 2, { cause: error });
  });
  return parsePriceTable(text);
}

function reason({ code }: NodeJS.ErrnoException): string {
  switch (code) {
    case 'ENOENT':
      return 'there is no such file';
    case 'EISDIR':
      return 'it is a folder';
    case 'EACCES':
      return 'this user may not read it';
    default:
      return code ?? 'unknown error';
  }
}
