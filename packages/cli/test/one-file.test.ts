/** The client as the one file that is copied to machines that have only Node. */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, copyFile, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
};

describe('the client in one file', () => {
  let directory: string;
  let program: string;
  let environment: NodeJS.ProcessEnv;
  before(async () => {
    directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-cli-'));
    program = path.join(directory, 'darkroom-cli');
    // This test is compiled to `dist/test`.
    await copyFile(fileURLToPath(new URL('../darkroom-cli.mjs', import.meta.url)), program);
    await chmod(program, 0o755);
    environment = { PATH: process.env['PATH'], HOME: directory, DARKROOM_API_KEY: 'dk_live_unknown' };
  });
  after(() => rm(directory, { recursive: true }));

  it('runs without the packages that it was made of', async () => {
    const { stdout } = await promisify(execFile)(program, ['--help'], { cwd: directory, env: environment });

    assert.match(stdout, /^Usage: darkroom-cli /);
  });

  it('serves the tools for MCP', async () => {
    const server = spawn(program, ['mcp'], { cwd: directory, env: environment, stdio: ['pipe', 'pipe', 'inherit'] });
    try {
      server.stdin.write(`${JSON.stringify(INITIALIZE)}\n`);
      const [line] = (await once(server.stdout.setEncoding('utf8'), 'data')) as [string];

      const { result } = JSON.parse(line) as { readonly result: { readonly serverInfo: { readonly name: string } } };
      assert.equal(result.serverInfo.name, 'darkroom');
    } finally {
      server.stdin.end();
      await once(server, 'exit');
    }
  });
});
