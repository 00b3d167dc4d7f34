/** By which JSON Schemas can an editor check what is written by hand? A list and a manifest, as they are before defaults. */
import { z } from 'zod';
import { ListFile } from './list.ts';
import { Manifest } from './manifest.ts';

/** By file beside this one. A `$schema` in a file may point there, for example `./node_modules/svc/core/cassette/list.schema.json`. */
export const publishedSchemas = (): Readonly<Record<string, object>> => ({
  'list.schema.json': published(ListFile, 'cassette.manifest.json: the cassettes that an operator wants'),
  'manifest.schema.json': published(Manifest, 'svc.cassette/v1: what a cassette says of itself'),
});

const published = (schema: z.ZodType, title: string): object => {
  const { $schema, ...rest } = z.toJSONSchema(schema, { io: 'input' });
  return { $schema, title, ...rest };
};
