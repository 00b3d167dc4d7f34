/** The documented numbers of connections are those that each role opens at most. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { POOL_SIZES } from '../../../../core/cli/serve/pool-sizes.ts';
import { SERVE_ROLES } from '../../../../core/cli/serve/role.ts';
import { packageRoot } from '../../../../core/package-root.ts';

const test = suite('pool sizes');

test('the table of roles has a row for each, with its connections', () => {
  const text = readFileSync(join(packageRoot(), 'core/cli/serve/README.md'), 'utf8');
  for (const role of SERVE_ROLES) {
    const { listeners, engine, notifications, eachCassette } = POOL_SIZES[role];
    const documented = new RegExp(`^\\| ${role} +\\|[^|]*\\| (\\d+)(, and (\\d+) for each cassette)? +\\|`, 'm').exec(
      text,
    );
    assert.is(Number(documented?.[1]), listeners + engine + notifications, role);
    assert.is(Number(documented?.[3] ?? 0), eachCassette, role);
  }
});

test.run();
