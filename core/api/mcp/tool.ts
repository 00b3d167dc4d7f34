/** Tools of the MCP server: the declaration that an agent reads, and the function that a call runs. */
import { z } from 'zod';
import { Refusal } from '../../errors.ts';

type JsonSchema = { type: 'object'; [keyword: string]: unknown };

/** The caller of a tool; `signal` aborts when it has left. */
export type Caller = { signal: AbortSignal };

/** One result in two forms: text to read, and data to work with. `structured` conforms to `outputSchema`. */
export type ToolOutput = { text: string; structured: Record<string, unknown> };

export type McpTool = {
  /** At most 64 of `A-Z a-z 0-9 _ -`: some models refuse anything else. The prefix `svc_` is reserved for the service. */
  name: string;
  title: string;
  description: string;
  inputSchema: JsonSchema;
  outputSchema?: JsonSchema;
  annotations: { readOnlyHint?: boolean; destructiveHint?: boolean; idempotentHint?: boolean; openWorldHint?: boolean };
  /** @throws {Refusal} its message is sent to the agent */
  call(args: Record<string, unknown>, caller: Caller): Promise<ToolOutput>;
};

type CoreTool<Input extends z.ZodObject, Output extends z.ZodObject> = Pick<
  McpTool,
  'name' | 'title' | 'description'
> & {
  input: Input;
  output: Output;
  run(input: z.infer<Input>, caller: Caller): Promise<{ text: string; structured: z.infer<Output> }>;
};

/** A tool that reads what was recorded. An argument that is null or empty counts as absent; one that does not exist is refused. */
export const coreTool = <Input extends z.ZodObject, Output extends z.ZodObject>({
  name,
  title,
  description,
  input,
  output,
  run: tell,
}: CoreTool<Input, Output>): McpTool => ({
  name,
  title,
  description,
  inputSchema: jsonSchema(input, 'input'),
  outputSchema: jsonSchema(output, 'output'),
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  call(args, caller) {
    const present = Object.fromEntries(Object.entries(args).filter(([, value]) => value !== null && value !== ''));
    const parsed = input.safeParse(present);
    if (!parsed.success)
      throw new Refusal('bad-request', `Cannot call ${name}: ${problemText(parsed.error, input, args)}`);
    return tell(parsed.data, caller);
  },
});

const problemText = ({ issues }: z.ZodError, input: z.ZodObject, args: Record<string, unknown>): string => {
  const [issue] = issues;
  if (issue?.code === 'unrecognized_keys')
    return `it has no argument "${issue.keys[0]?.slice(0, 64)}", only ${Object.keys(input.shape).join(', ')}`;
  const where = issue?.path.join('.');
  if (where && args[where] === '') return `"${where}" is empty`;
  return `${where ? `"${where}": ` : ''}${issue?.message ?? 'the arguments are invalid'}`;
};

/** As small as possible, since it is always in an agent's context. It is valid in any dialect, so `$schema` is left out. */
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

/** Finds a tool by its name, or by the name with a dot for the underscore, as similar services have it. */
export const toolNamed = (tools: readonly McpTool[], name: string): McpTool | undefined =>
  tools.find((tool) => tool.name === name) ?? tools.find((tool) => tool.name === name.replace('.', '_'));

const NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** The service's tools and those of cassettes. One of a cassette can have neither a name that exists nor one with the service's prefix. */
export function allTools(core: readonly McpTool[], joined: readonly McpTool[]): McpTool[] {
  const tools = [...core];
  for (const tool of joined)
    if (NAME.test(tool.name) && !tool.name.startsWith('svc_') && !toolNamed(tools, tool.name)) tools.push(tool);
  return tools;
}
