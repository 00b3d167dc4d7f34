/** The operator's own prices, where the settings name a file. */
import { dirname } from 'node:path';
import type { LoadedConfig } from '../config/load.ts';
import type { PriceTable } from '../price/price-file.ts';
import type { Io } from './io.ts';

/** Loaded only where a file is configured, since it loads a parser. */
export async function configuredPrices(loaded: LoadedConfig, io: Pick<Io, 'cwd'>): Promise<PriceTable | null> {
  const { file } = loaded.config.pricing;
  if (file === '') return null;
  const { readPriceTable } = await import('./price-file.ts');
  return readPriceTable(file, baseOf('pricing.file', loaded, io));
}

/** The folder of a relative path in a setting: that of the file that sets it, else where the command was called. */
const baseOf = (path: string, { source, file }: LoadedConfig, { cwd }: Pick<Io, 'cwd'>): string =>
  source[path] === 'file' && file !== null ? dirname(file) : cwd;
