/** The commands that read the record of a service that runs, and their arguments. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { CommandParts } from '../command-parts.ts';
import { addClientOptions } from '../options.ts';
import { SESSION_ARGUMENT } from './session-argument.ts';
import { instantOf } from './time-option.ts';

type Parsed = Record<string, unknown>;

export function addRecordCommands(program: Command, parts: CommandParts): void {
  addSessionCommands(program, parts);
  addListCommands(program, parts);
  addTotalCommands(program, parts);
  addSearchCommands(program, parts);
  addSkillCommands(program, parts);
}

function addSessionCommands(program: Command, { io, loaded }: CommandParts): void {
  const sessions = program.command('sessions').description('list, show, name and delete recorded conversations');

  addFilters(addClientOptions(sessions.command('list', { isDefault: true })))
    .description('list the conversations that match, those seen last first')
    .option('--text <words>', 'with these words in a title, prompt or answer; each begins a word')
    .option('--status <list>', 'completed, failed, interrupted, abandoned or unknown, with commas between')
    .option('--starred', 'only those with a star')
    .option('--sort <order>', 'last_active, started_at, turn_count, total_cost, total_tokens or duration')
    .option('--reverse', 'the other way round')
    .option('-n, --limit <count>', 'at most so many', wholeNumber, 20)
    .option('--json', 'as one JSON document')
    .action(async (parsed: Parsed) => {
      const { limit, json, starred, reverse } = parsed;
      const filter = {
        ...filterOf(parsed, 'list the sessions'),
        ...texts(parsed, { text: 'text', status: 'status', sort: 'sort' }),
        ...(starred === true && { starred: 'true' }),
        ...(reverse === true && { direction: 'asc' }),
      };
      const options = { filter, limit: Number(limit), json: json === true };
      await (await import('./sessions-list.ts')).listSessions(options, loaded(parsed), io);
    });

  addClientOptions(sessions.command('show'))
    .description('print a conversation: prompts, answers, tools and their results')
    .argument('<session>', SESSION_ARGUMENT)
    .option('--full', 'nothing is folded, and what the harness does by itself is shown as well')
    .option('-f, --follow', 'go on with what comes to it, until Ctrl-C')
    .option('-n, --last <count>', 'only the newest turns', wholeNumber)
    .option('--json', 'as one JSON document, with all that was derived')
    .action(async (session: string, parsed: Parsed) => {
      const { full, follow, last, json } = parsed;
      const options = { full: full === true, follow: follow === true, last: Number(last) || null, json: json === true };
      await (await import('./session-show.ts')).showSession(session, options, loaded(parsed), io);
    });

  addClientOptions(sessions.command('open'))
    .description('open a conversation in the browser; without one, or without a terminal, print its address')
    .argument('<session>', SESSION_ARGUMENT)
    .option('--print', 'print the address only')
    .action(async (session: string, { print, ...parsed }: Parsed) => {
      await (await import('./session-open.ts')).openSession(session, { print: print === true }, loaded(parsed), io);
    });

  addClientOptions(sessions.command('rename'))
    .description('name a conversation')
    .argument('<session>', SESSION_ARGUMENT)
    .argument('<name>', "its name in all lists; '' takes it away again")
    .action(async (session: string, name: string, parsed: Parsed) => {
      const { editSession } = await import('./session-edit.ts');
      await editSession(session, { display_name: name }, loaded(parsed), io);
    });

  for (const starred of [true, false])
    addClientOptions(sessions.command(starred ? 'star' : 'unstar'))
      .description(starred ? 'mark a conversation with a star' : 'take the star away')
      .argument('<session>', SESSION_ARGUMENT)
      .action(async (session: string, parsed: Parsed) => {
        await (await import('./session-edit.ts')).editSession(session, { starred }, loaded(parsed), io);
      });

  addClientOptions(sessions.command('delete'))
    .description('hide a conversation from all lists, for good; its raw turns stay')
    .argument('<session>', SESSION_ARGUMENT)
    .option('-y, --yes', 'without confirmation')
    .action(async (session: string, { yes, ...parsed }: Parsed) => {
      const { terminalConfirm } = await import('../cassette/confirm.ts');
      const options = { yes: yes === true, confirm: terminalConfirm() };
      await (await import('./session-edit.ts')).deleteSession(session, options, loaded(parsed), io);
    });
}

function addListCommands(program: Command, { io, loaded }: CommandParts): void {
  const listing = (name: string, description: string) =>
    addClientOptions(program.command(name))
      .description(description)
      .option('-n, --limit <count>', 'at most so many', wholeNumber, 50)
      .option('--json', 'as one JSON document');
  const options = ({ limit, json }: Parsed) => ({ limit: Number(limit), json: json === true });

  listing('traces', 'list the turns of a conversation, or the newest of all')
    .argument('[session]', SESSION_ARGUMENT)
    .action(async (session: string | undefined, parsed: Parsed) => {
      await (await import('./lists.ts')).listTraces(session ?? null, options(parsed), loaded(parsed), io);
    });

  listing('spans', 'list the steps of a turn, or of all turns of a conversation')
    .argument('<trace>', 'the id of a trace or the beginning of it; or a session, as other commands take it')
    .action(async (trace: string, parsed: Parsed) => {
      await (await import('./lists.ts')).listSpans(trace, options(parsed), loaded(parsed), io);
    });

  listing('raw-turns', 'list the captured calls of a conversation, in the order in which they were stored')
    .argument('<session>', SESSION_ARGUMENT)
    .action(async (session: string, parsed: Parsed) => {
      await (await import('./lists.ts')).listRawTurns(session, options(parsed), loaded(parsed), io);
    });
}

const SPEND_KEYS = { model: 'model', project: 'project', agent: 'agent_name', provider: 'provider' } as const;

function addTotalCommands(program: Command, { io, loaded }: CommandParts): void {
  addClientOptions(program.command('stats'))
    .description('sum up what was recorded: conversations, tokens, cost')
    .option('--project <name>', 'of this project')
    .option('--agent <name>', 'of this agent')
    .option('--model <name>', 'of this model')
    .option('--provider <name>', 'of this provider')
    .option('--since <time>', SINCE)
    .option('--until <time>', 'before; as --since')
    .addOption(new Option('--by <key>', 'the cost of each, in its parts').choices(Object.keys(SPEND_KEYS)))
    .addOption(new Option('--bucket <time>', 'of each day or hour (UTC) as well').choices(['day', 'hour']))
    .option('--json', 'as one JSON document')
    .action(async (parsed: Parsed) => {
      const options = { filter: filterOf(parsed, 'read the statistics'), json: parsed.json === true };
      if (parsed.by !== undefined || parsed.bucket !== undefined) {
        const by = SPEND_KEYS[String(parsed.by ?? 'model') as keyof typeof SPEND_KEYS];
        const spend = { ...options, by, bucket: parsed.bucket as 'day' | 'hour' | undefined };
        return (await import('./spend.ts')).printSpend(spend, loaded(parsed), io);
      }
      await (await import('./totals.ts')).printStats(options, loaded(parsed), io);
    });

  addClientOptions(program.command('coverage'))
    .description('tell how each request to the proxy ended: captured, or not and why')
    .option('--json', 'as one JSON document')
    .action(async (parsed: Parsed) => {
      await (await import('./totals.ts')).printCoverage({ json: parsed.json === true }, loaded(parsed), io);
    });
}

function addSearchCommands(program: Command, { io, loaded }: CommandParts): void {
  addFilters(addClientOptions(program.command('find')))
    .description('find where something was said, as it is written or by what it means')
    .argument('<query...>', 'what is looked for: words, an identifier, a path, or a part of one')
    .option('--mode <mode>', 'text: as it is written; vector: by meaning, hybrid: both, of the search cassette', 'text')
    .option(
      '--in <places>',
      'conversation, tools, thinking or prompt, with commas between; all but the last without it',
    )
    .option('--tool <name>', 'in what this tool was given and gave back')
    .option('-n, --limit <count>', 'at most so many', wholeNumber, 10)
    .option('--json', 'as one JSON document')
    .action(async (words: string[], parsed: Parsed) => {
      const { mode, limit, json } = parsed;
      const filter = { ...filterOf(parsed, 'find it'), ...texts(parsed, { in: 'in', tool: 'tool' }) };
      const options = { mode: String(mode), filter, limit: Number(limit), json: json === true };
      await (await import('./find.ts')).find(words.join(' '), options, loaded(parsed), io);
    });

  addClientOptions(program.command('export'))
    .description('write conversations as lines of JSON, one each: the one that is named, or all of a window of time')
    .argument('[session]', SESSION_ARGUMENT)
    .option('--since <time>', 'active then or later: a day, today, yesterday or a timestamp; 30 days ago without it')
    .option('--until <time>', 'active before; as --since')
    .addOption(new Option('--detail <how>', 'spans, or traces: turns without their steps').choices(['spans', 'traces']))
    .option('-o, --output <file>', 'into this file, which is there once it is complete')
    .action(async (session: string | undefined, parsed: Parsed) => {
      const option = (name: string) => (typeof parsed[name] === 'string' ? parsed[name] : null);
      const { exportSessions } = await import('./export.ts');
      const options = {
        since: option('since'),
        until: option('until'),
        detail: option('detail'),
        output: option('output'),
      };
      await exportSessions(session ?? null, options, loaded(parsed), io);
    });
}

function addSkillCommands(program: Command, { io, loaded }: CommandParts): void {
  const skills = program.command('skills').description('list, read and generate skills, which agents learn from');

  addClientOptions(skills.command('list', { isDefault: true }))
    .description('list the skills, those changed last first')
    .option('--text <words>', 'with these words')
    .option('--json', 'as one JSON document')
    .action(async ({ text, json, ...parsed }: Parsed) => {
      const options = { query: typeof text === 'string' ? text : null, json: json === true };
      await (await import('./skills.ts')).listSkills(options, loaded(parsed), io);
    });

  addClientOptions(skills.command('show'))
    .description('print a skill as SKILL.md, or keep it where an agent looks for it')
    .argument('<skill>', 'its id, the beginning of it, or its name')
    .option('-o, --output <folder>', 'keep it there, such as .claude/skills, in a folder of its name')
    .option('--json', 'as one JSON document')
    .action(async (skill: string, { output, json, ...parsed }: Parsed) => {
      const options = { output: typeof output === 'string' ? output : null, json: json === true };
      await (await import('./skills.ts')).showSkill(skill, options, loaded(parsed), io);
    });

  addClientOptions(skills.command('generate'))
    .description('generate a skill from conversations, by the model that is configured for skills')
    .argument('<session...>', SESSION_ARGUMENT)
    .option('--name <name>', 'what it shall be called')
    .option('--json', 'as one JSON document')
    .action(async (sessions: string[], { name, json, ...parsed }: Parsed) => {
      const options = { name: typeof name === 'string' ? name : null, json: json === true };
      await (await import('./skills.ts')).generateSkill(sessions, options, loaded(parsed), io);
    });
}

const SINCE = 'then or later: a day such as 2026-07-27, today, yesterday, or a timestamp';

const addFilters = (command: Command): Command =>
  command
    .option('--project <name>', 'of this project')
    .option('--agent <name>', 'of this agent')
    .option('--model <name>', 'with a call that this model answered')
    .option('--provider <name>', 'with a call to this provider')
    .option('--harness <id>', 'of this harness')
    .option('--since <time>', `seen ${SINCE}`)
    .option('--until <time>', 'started before; as --since');

/** The filters of `addFilters` as parameters of the read API. @throws {OperatorError} 2: a time is none */
function filterOf(parsed: Parsed, what: string): Record<string, string> {
  const times = Object.entries(texts(parsed, { since: 'since', until: 'until' })).map(([name, text]) => [
    name,
    instantOf(text, { flag: `--${name}`, what }),
  ]);
  return {
    ...texts(parsed, {
      ...{ project: 'project', agent: 'agent_name', model: 'model', provider: 'provider', harness: 'harness_id' },
    }),
    ...Object.fromEntries(times),
  };
}

/** The options that are texts, under the names of the read API. */
const texts = (parsed: Parsed, names: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(names).flatMap(([option, parameter]) =>
      typeof parsed[option] === 'string' ? [[parameter, parsed[option]]] : [],
    ),
  );

function wholeNumber(text: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number from 1 on.');
}
