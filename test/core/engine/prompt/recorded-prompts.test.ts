/** Do the prompts of recorded calls add up, block by block, to what the provider billed, and is each block that part of the request? */
import * as assert from 'uvu/assert';
import { type CallPrompt, promptsOf } from '../../../../core/engine/prompt/prompts-of.ts';
import { PROMPT_SECTIONS } from '../../../../core/model/cache-break.ts';
import { recordedJournalCalls, takeIn } from '../../../support/captured-calls.ts';
import { corpusBodies } from '../../../support/corpus-calls.ts';
import { databaseSuite, type TestDatabase } from '../../../support/databases.ts';
import { deriveAll } from '../../../support/derive-all.ts';
import { testIngest } from '../../../support/ingested-turns.ts';
import { valueAtPath } from '../../../support/value-at-path.ts';

databaseSuite('recorded prompts', (test, database) => {
  test('the calls of Claude Code', async () => {
    await database().reset();
    const calls = await recordedJournalCalls();
    if (!calls) return;
    await takeIn(database(), calls);
    await deriveAll(database());
    const prompts = await allPrompts(database());
    assert.is(prompts.length, 9);
    for (const prompt of prompts) await assertAddsUp(database(), prompt);
    const main = prompts.filter(({ call_kind }) => call_kind === 'main');
    assert.is(main.length, 8);
    for (const { tokens, prompt } of main.slice(1)) {
      const added = tokens.shares.slice(main[0]?.prompt.blocks.length ?? 0);
      assert.ok(added.length > 0 && prompt.reach === 'whole');
    }
  });

  test('the session of Codex with sub-agents', async () => {
    await database().reset();
    const bodies = corpusBodies();
    if (!bodies) return;
    const ingest = await testIngest(database());
    for (const body of bodies.turns) await ingest.append(new Uint8Array(Buffer.from(body)), null);
    await deriveAll(database());
    const prompts = await allPrompts(database());
    assert.ok(prompts.length > 0);
    for (const prompt of prompts) await assertAddsUp(database(), prompt);
  });
});

async function allPrompts(database: TestDatabase): Promise<CallPrompt[]> {
  const sessions = await database.execute('sessionIds', { after: null, limit: 100 });
  const prompts: CallPrompt[] = [];
  for (const session_id of sessions)
    for await (const prompt of promptsOf(database.execute, session_id)) prompts.push(prompt);
  return prompts;
}

async function assertAddsUp(database: TestDatabase, { raw_turn_id, prompt, tokens, usage }: CallPrompt): Promise<void> {
  const { blocks } = prompt;
  const sections = blocks.map(({ section }) => PROMPT_SECTIONS.indexOf(section));
  assert.equal(sections, [...sections].sort(), 'sections in cache order');
  assert.is(tokens.shares.length, blocks.length);
  const total = tokens.shares.reduce((sum, share) => sum + (share.tokens ?? 0), 0);
  if (usage) assert.is(total + tokens.unattributed_tokens, usage.input_tokens, `turn ${raw_turn_id}`);
  else assert.is(total, 0);

  const stored = await database.execute('rawTurnBytes', { raw_turn_id });
  const request = Buffer.from(stored?.request ?? []).toString();
  for (const block of blocks.filter(({ path }) => path !== '')) {
    assert.equal(block.json(), valueAtPath(JSON.parse(request), block.path), block.path);
    assert.ok(request.includes(Buffer.from(block.raw()).toString()), block.path);
    assert.is(block.raw().byteLength, block.bytes);
  }
}
