/** What is a tool? A promise that an agent reads, and what happens when the agent takes it up. */
import { z } from 'zod';
import { Refusal } from '../../errors.ts';

type JsonSchema = { type: 'object'; [keyword: string]: unknown };

/** Who asks: `signal` tells that he has left. */
export type Caller = { signal: AbortSignal };

/** The same twice: to be read, and to be worked with. `structured` is what `outputSchema` says. */
export type ToolOutput = { text: string; structured: Record<string, unknown> };

export type McpTool = {
  /** At most 64 of `A-Z a-z 0-9 _ -`: more than that some models refuse. `svc_` is ours. */
  name: string;
  title: string;
  description: string;
  inputSchema: JsonSchema;
  outputSchema?: JsonSchema;
  annotations: { readOnlyHint?: boolean; destructiveHint?: boolean; idempotentHint?: boolean; openWorldHint?: boolean };
  /** @throws {Refusal} whose message the agent is told */
  call(args: Record<string, unknown>, caller: Caller): Promise<ToolOutput>;
};

type CoreTool<Input extends z.ZodObject, Output extends z.ZodObject> = Pick<
  McpTool,
  'name' | 'title' | 'description'
> & {
  input: Input;
  output: Output;
  tell(input: z.infer<Input>, caller: Caller): Promise<{ text: string; structured: z.infer<Output> }>;
};

/** A tool that reads what was recorded. An argument that is null or empty counts as absent; one that does not exist is refused. */
export const coreTool = <Input extends z.ZodObject, Output extends z.ZodObject>({
  name,
  title,
  description,
  input,
  output,
  tell,
}: CoreTool<Input, Output>): McpTool => ({
  name,
  title,
  description,
  inputSchema: jsonSchema(input, 'input'),
  outputSchema: jsonSchema(output, 'output'),
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  call(args, caller) {
    const given = Object.fromEntries(Object.entries(args).filter(([, value]) => value !== null && value !== ''));
    const read = input.safeParse(given);
    if (!read.success) throw new Refusal('bad-request', `Cannot call ${name}: ${wrong(read.error, input)}`);
    return tell(read.data, caller);
  },
});

const wrong = ({ issues }: z.ZodError, input: z.ZodObject): string => {
  const [issue] = issues;
  if (issue?.code === 'unrecognized_keys')
    return `it has no argument "${issue.keys[0]?.slice(0, 64)}", only ${Object.keys(input.shape).join(', ')}`;
  const where = issue?.path.join('.');
  return `${where ? `"${where}": ` : ''}${issue?.message ?? 'the arguments are invalid'}`;
};

/** As small as it can be: an agent holds it in mind all the time. Any dialect reads it, so it names none. */
const jsonSchema = (schema: z.ZodObject, io: 'input' | 'output'): JsonSchema => {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io,
    target: 'draft-7',
    override: ({ jsonSchema: node }) => {
      if (node.format === 'uuid') delete node.pattern;
      if (node.maximum === Number.MAX_SAFE_INTEGER) delete node.maximum;
      if (node.minimum === Number.MIN_SAFE_INTEGER) delete node.minimum;
    },
  });
  return { ...rest, type: 'object' };
};

/** Under which names a tool is found: its own, and with a dot as joiner, as other services of this kind have it. */
export const toolNamed = (tools: readonly McpTool[], name: string): McpTool | undefined =>
  tools.find((tool) => tool.name === name) ?? tools.find((tool) => tool.name === name.replace('.', '_'));

const NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** Ours and those that joined. A joined one can neither take a name that is taken nor one of ours. */
export function allTools(core: readonly McpTool[], joined: readonly McpTool[]): McpTool[] {
  const tools = [...core];
  for (const tool of joined)
    if (NAME.test(tool.name) && !tool.name.startsWith('svc_') && !toolNamed(tools, tool.name)) tools.push(tool);
  return tools;
}
