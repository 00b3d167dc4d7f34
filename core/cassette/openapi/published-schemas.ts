/** The JSON Schemas with which an editor checks a list or a manifest, as they are written: before defaults are filled in. */
import { z } from 'zod';
import { Manifest } from '../admission/manifest.ts';
import { ListFile } from '../list/list.ts';

/** By the name of a file beside this one. A `$schema` in a file may point there, for example `./node_modules/svc/core/cassette/list.schema.json`. */
export const publishedSchemas = (): Readonly<Record<string, object>> => ({
  'list.schema.json': published(ListFile, 'cassette.manifest.json: the cassettes that an operator wants'),
  'manifest.schema.json': published(Manifest, 'svc.cassette/v1: the self-description of a cassette'),
});

const published = (schema: z.ZodType, title: string): object => {
  const { $schema, ...rest } = z.toJSONSchema(schema, { io: 'input' });
  return { $schema, title, ...rest };
};
