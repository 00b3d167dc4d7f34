/** Can the journal be handed headers that still hold a credential? The compiler refuses, and this file does not compile if it no longer does. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openJournal } from '../../../core/capture/journal.ts';
import { redactHeaders } from '../../../core/capture/redact.ts';
import type { HeaderList } from '../../../core/model/headers.ts';
import { REDACTED } from '../../../core/redaction/shapes.ts';
import { answered, newFolder, opened, readDead, silent } from '../../support/journal-calls.ts';

const test = suite('redacted headers');
const raw: HeaderList = [['authorization', 'Bearer a-credential']];

test('the journal takes redacted headers, and no others', async () => {
  const folder = newFolder();
  const journal = await openJournal({ folder, maxBytes: 1e6, log: silent });
  const headers = redactHeaders(raw.flat());
  const copy = journal.open({ ...opened('a'), headers });
  copy?.responseHead({ ...answered(), headers });
  const refused = [
    // @ts-expect-error headers as a client sent them
    () => journal.open({ ...opened('b'), headers: raw }),
    // @ts-expect-error headers as a provider sent them
    () => copy?.responseHead({ ...answered(), headers: raw }),
  ];
  assert.is(refused.length, 2); // never called
  await journal.close();
  const [entry] = await readDead(folder);
  const call = entry?.kind === 'call' ? entry.call : null;
  assert.equal(call?.opened.headers, [['authorization', REDACTED]]);
  assert.equal(call?.responseHead?.headers, [['authorization', REDACTED]]);
});

test.run();
