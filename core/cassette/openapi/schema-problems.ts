/** Checks that the schemas of an OpenAPI document are JSON Schema 2020-12: a reader that compiles them would reject the whole document. */
import { z } from 'zod';
import { type OpenApi, placeOf, visit } from './openapi-shape.ts';

const TYPES = ['null', 'boolean', 'object', 'array', 'number', 'string', 'integer'] as const;
const schema = z.union([z.boolean(), z.record(z.string(), z.unknown())], 'must be a schema').optional();
const schemas = z.array(schema, 'must be a list of schemas').min(1, 'must name at least one schema').optional();
const byName = z.record(z.string(), schema, 'must be schemas by their names').optional();
const count = z.int('must be a whole number').min(0, 'must not be below 0').optional();
const limit = z.number('must be a number').optional();
const flag = z.boolean('must be true or false').optional();
const text = z.string('must be a text').optional();
const names = z
  .array(z.string(), 'must be a list of names')
  .refine((list) => new Set(list).size === list.length, 'names something twice')
  .optional();

const each = <Schema extends z.ZodType>(keywords: string, shape: Schema): Record<string, Schema> =>
  Object.fromEntries(keywords.split(' ').map((keyword) => [keyword, shape]));

/** The members of a schema, without the schemas in them: each of those is checked separately. */
const Shallow = z.looseObject({
  ...each('$ref $schema $comment format title description contentEncoding contentMediaType', text),
  ...each('maximum exclusiveMaximum minimum exclusiveMinimum', limit),
  ...each('maxLength minLength maxItems minItems maxContains minContains maxProperties minProperties', count),
  ...each('uniqueItems deprecated readOnly writeOnly', flag),
  ...each('enum examples', z.array(z.unknown(), 'must be a list').optional()),
  ...each('properties dependentSchemas $defs', byName),
  ...each('allOf anyOf oneOf prefixItems', schemas),
  ...each('not if then else items contains propertyNames contentSchema', schema),
  ...each('additionalProperties unevaluatedItems unevaluatedProperties', schema),
  type: z
    .union([z.enum(TYPES), z.array(z.enum(TYPES)).min(1)], `must be of ${TYPES.join(', ')}, or a list of them`)
    .optional(),
  multipleOf: z.number('must be a number').gt(0, 'must be above 0').optional(),
  required: names,
  pattern: z.string('must be a text').refine(isPattern, 'is no regular expression').optional(),
  patternProperties: z.record(z.string().refine(isPattern, 'is no regular expression'), schema).optional(),
  dependentRequired: z.record(z.string(), names).optional(),
});

export function schemaProblems(document: OpenApi): string[] {
  const problems: string[] = [];
  visit(document, 'document', (node, kind, path) => {
    if (kind !== 'schema') return;
    const { success, error } = Shallow.safeParse(node);
    if (success) return;
    for (const issue of error.issues)
      problems.push(`${placeOf([...path, ...issue.path.map(String)])}: ${issue.message}`);
  });
  return problems;
}

function isPattern(pattern: string): boolean {
  try {
    return Boolean(new RegExp(pattern, 'u'));
  } catch {
    return false;
  }
}
