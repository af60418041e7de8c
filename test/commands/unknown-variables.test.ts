/** Every command that starts a program of ours warns about a misspelt setting, and then continues as usual. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { describe, it } from 'node:test';
import { text } from 'node:stream/consumers';
import { builtProgram } from '../support/built-program.ts';

const MISSPELT = { DATABSE_URL: 'postgres://me:hunter2@db/darkroom', npm_config_cache: '/x', PGHOST: 'db' };
const MESSAGE = 'DATABSE_URL is not a setting; did you mean DATABASE_URL?';
const WARN = 40;

async function run(
  args: readonly string[],
  more: Readonly<Record<string, string>> = {},
): Promise<{ readonly out: string; readonly error: string }> {
  const { PATH, HOME } = process.env;
  const child = spawn(process.execPath, [...builtProgram(), ...args], { env: { PATH, HOME, ...MISSPELT, ...more } });
  const [out, error] = await Promise.all([text(child.stdout), text(child.stderr)]);
  assert.ok(!`${out}${error}`.includes('hunter2'));
  return { out, error };
}

describe('a misspelt setting', () => {
  for (const role of ['api', 'worker', 'migrate']) {
    it(`is logged by ${role}, beside the errors that it causes`, async () => {
      const { out } = await run([role]);
      const [line = '', ending = ''] = out.split('\n');
      const { level, msg, variable, role: of } = JSON.parse(line) as Record<string, unknown>;
      assert.deepEqual([level, msg, variable, of], [WARN, MESSAGE, 'DATABSE_URL', role]);
      assert.match(String((JSON.parse(ending) as Record<string, unknown>)['msg']), /DATABASE_URL is not set/);
    });
  }

  it('is reported by admin beside its answer, which stays complete', async () => {
    const { out, error } = await run(['admin', '--help']);
    assert.equal(error.trimEnd(), MESSAGE);
    assert.match(out, /^Usage: npm run admin -- <group> <command>/);
  });

  it('is reported once by npm start, and not again by its child processes', async () => {
    const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-misspelt-'));
    // An invalid port: it ends before it starts.
    const { out, error } = await run(['start', '--data-dir', directory], { PORT: '8x' });
    await rm(directory, { recursive: true });
    assert.equal(out, `Warning: ${MESSAGE}\n`);
    assert.match(error, /PORT: "8x"/);

    const role = await run(['api'], { DARKROOM_EMBEDDED: 'true' });
    assert.ok(!role.out.includes(MESSAGE));
  });
});
