/** Generates files of the Python SDK: its models, from the schemas of the API, and the asynchronous client. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { packageFile } from '../../src/config/package-root.ts';
import { obtainPackage } from '../wide/python-environment.ts';
import type { PythonPackage } from '../wide/python-environment.ts';
import { namedSchemas } from './named-schemas.ts';
import type { JsonSchema } from './named-schemas.ts';

const SOURCES = 'packages/sdk-python/src/darkroom';
export const PYTHON_MODELS = `${SOURCES}/_models.py`;
/** The files of the asynchronous client, and those of the synchronous one that they are made from. */
export const PYTHON_ASYNC_SOURCES: Readonly<Record<string, string>> = {
  [`${SOURCES}/_async_client.py`]: `${SOURCES}/_client.py`,
  [`${SOURCES}/_async_resources.py`]: `${SOURCES}/_resources.py`,
};

/** What generates, formats, checks and builds it. */
export const PYTHON_TOOLS: PythonPackage = {
  name: 'datamodel-code-generator',
  version: '0.89.0',
  constraints: [
    'ruff==0.17.5',
    'mypy==2.4.1',
    'httpx==0.28.1',
    'pydantic==2.14.3',
    'build==1.6.1',
    'hatchling==1.33.0',
  ],
};

const run = promisify(execFile);

/** What only requests have, or only the types of another language. */
const LEFT_OUT = ['BatchLine', 'ErrorCode', 'TaskRequest', 'TaskStatus', 'TokenRequest', 'TokenScope'];

const MODELS_HEADER = `"""The models of responses. Generated from the schemas of the API by test/sdk/render-python.ts; do not edit."""`;

const OPTIONS = [
  '--input-file-type=jsonschema',
  '--output-model-type=pydantic_v2.BaseModel',
  '--target-python-version=3.10',
  '--use-standard-collections',
  '--use-union-operator',
  '--snake-case-field',
  '--allow-population-by-field-name',
  '--enum-field-as-literal=all',
  '--use-schema-description',
  '--use-field-description',
  '--collapse-root-models',
  '--disable-timestamp',
  '--use-double-quotes',
  '--formatters=builtin',
  '--class-name=Everything',
];

/** The class of the schema that only has the definitions. */
const EVERYTHING = /^class Everything\(.*\n {4}root: Any\n+/m;

/** @returns the models, as `PYTHON_MODELS` has to be. */
export async function pythonModels(): Promise<string> {
  const python = await obtainPackage(PYTHON_TOOLS);
  const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-models-'));
  try {
    const [schema, output] = ['schema.json', 'models.py'].map((name) => path.join(directory, name)) as [string, string];
    const { $defs, ...rest } = namedSchemas(open);
    const definitions = Object.entries($defs as JsonSchema).filter(([name]) => !LEFT_OUT.includes(name));
    await writeFile(schema, JSON.stringify({ ...rest, $defs: Object.fromEntries(definitions) }));
    const files = ['--input', schema, '--output', output, '--custom-file-header', MODELS_HEADER];
    await run(python, ['-m', 'datamodel_code_generator', ...OPTIONS, ...files]);
    await writeFile(output, (await readFile(output, 'utf8')).replace(EVERYTHING, ''));
    return await format(python, output);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Keywords that a client does not check. */
const BOUNDS: ReadonlySet<string> = new Set([
  'examples',
  'maxItems',
  'maxLength',
  'maxProperties',
  'maximum',
  'minItems',
  'minLength',
  'minimum',
  'pattern',
]);

/** Responses may gain fields and values (contract §0.3): what a client accepts is less than what a schema promises. */
function open(schema: JsonSchema): JsonSchema {
  const rest = Object.fromEntries(Object.entries(schema).filter(([keyword]) => !BOUNDS.has(keyword))) as JsonSchema;
  const { enum: values, additionalProperties, patternProperties, ...others } = rest;
  // Whatever the names of members match, they are texts.
  const [ofMembers] = Object.values((patternProperties ?? {}) as JsonSchema);
  const members = ofMembers ?? additionalProperties;
  const more = typeof members === 'object' ? { additionalProperties: members } : {};
  if (!Array.isArray(values) || !values.every((value) => typeof value === 'string')) {
    return { ...others, ...more, ...(values === undefined ? {} : { enum: values }) };
  }
  const { type: _type, ...described } = others;
  return { ...described, anyOf: [{ type: 'string', enum: values }, { type: 'string' }] };
}

/** From the synchronous client to the asynchronous one, in this order. */
const TO_ASYNC: readonly (readonly [RegExp, string])[] = [
  [
    /^"""The synchronous client\..*"""$/m,
    '"""The asynchronous client. Made from `_client.py` by test/sdk/render-python.ts; do not edit."""',
  ],
  [
    /^"""What the synchronous client has beside tasks\..*"""$/m,
    '"""What the asynchronous client has beside tasks. Made by test/sdk/render-python.ts; do not edit."""',
  ],
  [/from \._(client|resources) import/g, 'from ._async_$1 import'],
  [/^import time$/m, 'import asyncio\nimport time'],
  [
    /from collections\.abc import Callable, Iterator,/,
    'from collections.abc import AsyncIterator, Awaitable, Callable,',
  ],
  [/\bIterator\[/g, 'AsyncIterator['],
  [/(?<![\w."])(Darkroom|Batches|Files|Models|Tokens)\b(?!Error)/g, 'Async$1'],
  [/"(Darkroom|Batches|Files|Models|Tokens)"/g, '"Async$1"'],
  [
    /A client of a AsyncDarkroom\. Use it as a context manager/,
    'A client of a Darkroom, for ``asyncio``. Use it as an asynchronous context manager',
  ],
  [/httpx\.Client\b/g, 'httpx.AsyncClient'],
  [/__(enter|exit)__/g, '__a$1__'],
  [/^( +)def (?!__init__)/gm, '$1async def '],
  [/self\.close\(\)/g, 'await self.close()'],
  [/self\._http\.close\(\)/g, 'await self._http.aclose()'],
  [/self\.get\(task\)\.status/g, '(await self.get(task)).status'],
  [
    /(return |= |^ {8})(self\.(?:_send|_attempt|submit|wait|list|files\.upload|_http\.send|_http\.get|_client\._(?:send|content))\()/gm,
    '$1await $2',
  ],
  [/return once\(\)/g, 'return await once()'],
  [/once: Callable\[\[\], Data\]/g, 'once: Callable[[], Awaitable[Data]]'],
  [/time\.sleep\(/g, 'await asyncio.sleep('],
  [/for (\w+) in (self\.(?:_client\.)?_(?:events_after|results_in|stream)\()/g, 'async for $1 in $2'],
  [/for part in response\.iter_bytes\(\)/g, 'async for part in response.aiter_bytes()'],
  [/response\.read\(\)/g, 'await response.aread()'],
  [/response\.close\(\)/g, 'await response.aclose()'],
];

/** @returns the files of the asynchronous client by their names, as they have to be. */
export async function pythonAsyncClient(): Promise<Readonly<Record<string, string>>> {
  const python = await obtainPackage(PYTHON_TOOLS);
  const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-async-'));
  const unused = new Set(TO_ASYNC.map(([pattern]) => pattern));
  const files: Record<string, string> = {};
  try {
    for (const [name, source] of Object.entries(PYTHON_ASYNC_SOURCES)) {
      let text = await readFile(packageFile(source), 'utf8');
      for (const [pattern, replacement] of TO_ASYNC) {
        const replaced = text.replace(pattern, replacement);
        if (replaced !== text) unused.delete(pattern);
        text = replaced;
      }
      const file = path.join(directory, path.basename(name));
      await writeFile(file, text);
      files[name] = await format(python, file);
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
  if (unused.size > 0) throw new Error(`${[...unused].join(', ')} match nothing`);
  return files;
}

async function format(python: string, file: string): Promise<string> {
  const settings = packageFile('packages/sdk-python/pyproject.toml');
  // Its rules leave the generated file out, which has another name here.
  await run(python, ['-m', 'ruff', 'check', '--quiet', '--fix', '--select', 'I,F401', '--config', settings, file]);
  await run(python, ['-m', 'ruff', 'format', '--quiet', '--config', settings, file]);
  return readFile(file, 'utf8');
}
