/** Generates the types of the JavaScript SDK: packages/sdk-js/src/generated/types.ts. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { compile } from 'json-schema-to-typescript';
import { packageFile } from '../../src/config/package-root.ts';
import { NAMED_SCHEMAS, namedSchemas } from './named-schemas.ts';
import type { JsonSchema } from './named-schemas.ts';

export const JAVASCRIPT_TYPES = 'packages/sdk-js/src/generated/types.ts';

const BANNER = `/**
 * The types of requests and responses. Generated from the schemas of the API by test/sdk/render-javascript-types.ts; do
 * not edit.
 */`;

/** What the generator says about where it found a definition. */
const REFERRED = /(?:^ *\* ?\n)?^ *\* This interface was referenced by.*\n.*\n/gm;
const EMPTY_COMMENT = /^ *\/\*\*\n *\*\/\n/gm;
/** With the comment above it. */
const DECLARATION = /^(?:\/\*\*\n(?: \*.*\n)+)?export /gm;
/** The object that only lists them. */
const EVERYTHING = /export interface Everything \{[\s\S]*?^\}\n/m;

/** @returns the file. */
export async function javascriptTypes(): Promise<string> {
  const properties = Object.keys(NAMED_SCHEMAS).map((name) => [name, { $ref: `#/$defs/${name}` }]);
  const schema = { ...namedSchemas(typed), type: 'object', properties: Object.fromEntries(properties) };
  const text = await compile(schema as Parameters<typeof compile>[0], 'Everything', {
    bannerComment: BANNER,
    additionalProperties: true,
    // Bounds would become tuples of every length up to them.
    ignoreMinAndMaxItems: true,
    unreachableDefinitions: true,
    style: { printWidth: 120, singleQuote: true },
  });
  const types = text
    .replaceAll(REFERRED, '')
    .replaceAll(EMPTY_COMMENT, '')
    .replace(EVERYTHING, '')
    .replaceAll(DECLARATION, '\n$&')
    .replaceAll(/\n{3,}/g, '\n\n');
  return format(types);
}

/** As the formatter of this repository does it, which breaks other lines than the generator's. */
async function format(types: string): Promise<string> {
  const running = promisify(execFile)(packageFile('node_modules/.bin/oxfmt'), ['--stdin-filepath', JAVASCRIPT_TYPES], {
    cwd: packageFile('.'),
  });
  running.child.stdin?.end(types);
  return (await running).stdout;
}

/** What is about values and not about types makes comments of many lines. */
function typed(schema: JsonSchema): JsonSchema {
  const { pattern: _pattern, examples: _examples, ...rest } = schema;
  return rest;
}
