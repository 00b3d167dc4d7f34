/** Writes the published JSON Schemas anew: `node --import tsx test/support/publish-schemas.ts && npm run fix`. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { publishedSchemas } from '../../core/cassette/published-schemas.ts';
import { packageRoot } from '../../core/package-root.ts';
import { nodeEventSchema } from '../../core/publish/node-event.ts';

for (const [file, schema] of Object.entries(publishedSchemas()))
  await writeFile(join(packageRoot(), 'core/cassette', file), JSON.stringify(schema));
await writeFile(join(packageRoot(), 'core/publish/svc.node.v1.schema.json'), JSON.stringify(nodeEventSchema()));
