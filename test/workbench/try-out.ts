/** Model files in a directory of their own, and `admin models try` run over them in this process. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { createAdminProgram } from '../../src/commands/admin/arguments.ts';
import { tryCommand } from '../../src/commands/admin/models.ts';
import { DarkroomError } from '../../src/domain/darkroom-error.ts';
import type { HttpBinding } from '../../src/providers/http/binding.ts';
import { definition } from '../catalogue/definitions.ts';
import type { CommandResult } from '../commands/admin-command.ts';

export const SECRET = 'the-secret-of-main';
export const KEY = { UPSTREAM_MAIN_KEY: SECRET };
export const HTTP = 'routes.default.upstreams.0.http';

const SCHEMA = {
  type: 'object',
  additionalProperties: false,
  required: ['prompt'],
  properties: {
    prompt: { type: 'string', minLength: 1 },
    n: { type: 'integer', minimum: 1, maximum: 4 },
    image_url: { type: 'string', contentMediaType: 'image/png' },
    image_urls: { type: 'array', items: { type: 'string', contentMediaType: 'image/*' } },
  },
};

export interface TryRoom {
  readonly directory: string;
  /** Writes a model file. @returns its path. */
  modelFile(http: HttpBinding, origin?: string, changes?: object): Promise<string>;
  remove(): Promise<void>;
}

export async function openTryRoom(): Promise<TryRoom> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-try-test-'));
  return {
    directory,
    async modelFile(http, origin = 'https://api.example', changes = {}) {
      const file = path.join(directory, 'model.json');
      const upstream = { protocol: 'http', baseUrl: `${origin}/v1`, secret: 'main', model: 'some/model', http };
      const routes = { default: { upstreams: [upstream] } };
      const pricing = { unit: 'image', usd: '0.01', count: { field: 'n', default: 1 } } as const;
      const model = definition({ routes, pricing, inputSchema: SCHEMA });
      await writeFile(file, JSON.stringify({ ...model, ...changes }));
      return file;
    },
    remove: () => rm(directory, { recursive: true, force: true }),
  };
}

/** Runs the command in this process, as the program does. */
export async function tryOut(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = KEY,
): Promise<CommandResult> {
  let stdout = '';
  const program = createAdminProgram().exitOverride();
  const print = (text: string): void => {
    stdout += text;
  };
  tryCommand(program.command('models'), environment, print);
  try {
    await program.parseAsync(['models', 'try', ...args], { from: 'user' });
    return { code: 0, stdout, stderr: '' };
  } catch (error) {
    assert.ok(error instanceof DarkroomError, String(error));
    return { code: 1, stdout, stderr: `${error.message}\n` };
  }
}
