import { readFileSync } from 'node:fs';
import {
  buildSchema,
  execute,
  GraphQLError,
  isScalarType,
  isSpecifiedScalarType,
  parse,
  validate,
  type ExecutionResult,
  type GraphQLSchema,
} from 'graphql';

/** Mina's scalars are strings in the answer; JSON is whatever it is. */
function asText(schema: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(schema.getTypeMap())) {
    if (isScalarType(type) && !isSpecifiedScalarType(type) && type.name !== 'JSON') type.serialize = String;
  }
  return schema;
}

/** Reads a schema from the package's schema folder. */
export function loadSchema(name: 'daemon' | 'archive'): GraphQLSchema {
  return asText(buildSchema(readFileSync(new URL(`../../schema/${name}.graphql`, import.meta.url), 'utf8')));
}

/** A request over HTTP. */
export interface GraphQLRequest {
  query: string;
  variables?: Record<string, unknown> | null;
  operationName?: string | null;
}

/** What is noted of a request while it is answered. */
export interface Context {
  sent: boolean; // it sent a command, accepted or not
}

const MAX_TOKENS = 200_000; // of a query; the largest command inlined has some 10 000
const MAX_NESTING = 64;

/** Answers a request. Errors are in the answer, as the daemon has it. */
export async function answer(
  schema: GraphQLSchema,
  rootValue: object,
  request: GraphQLRequest,
  contextValue: Context,
): Promise<ExecutionResult> {
  if (nesting(request.query) > MAX_NESTING)
    return refuse(`the query has more than ${MAX_NESTING} brackets in brackets`);
  let document;
  try {
    document = parse(request.query, { maxTokens: MAX_TOKENS });
  } catch (error) {
    return refuse(error);
  }
  const errors = validate(schema, document);
  if (errors.length > 0) return { errors, data: null };
  return await execute({
    schema,
    document,
    rootValue,
    contextValue,
    variableValues: request.variables ?? undefined,
    operationName: request.operationName ?? undefined,
  });
}

function refuse(reason: unknown): ExecutionResult {
  return { errors: [reason instanceof GraphQLError ? reason : new GraphQLError(String(reason))], data: null };
}

/** How deep brackets lie within brackets, strings apart. The parser would run out of stack. */
function nesting(query: string): number {
  let [depth, deepest, quoted] = [0, 0, false];
  for (let i = 0; i < query.length; i++) {
    const character = query[i]!;
    if (character === '"') quoted = !quoted;
    else if (quoted) i += character === '\\' ? 1 : 0;
    else if ('[({'.includes(character)) deepest = Math.max(deepest, ++depth);
    else if ('])}'.includes(character)) depth--;
  }
  return deepest;
}
