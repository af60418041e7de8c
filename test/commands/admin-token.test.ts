/** `admin admin-token show`: the operator of `npm start` finds the generated token. */
import assert from 'node:assert/strict';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { readOrCreateSecrets } from '../../src/standalone/secrets.ts';
import { temporaryDirectory } from '../standalone/fixtures/supervised.ts';
import { publishInstance, runAdminInHost } from './admin-command.ts';

let directory: string;
beforeEach(async () => {
  directory = await temporaryDirectory();
});
afterEach(() => rm(directory, { recursive: true, force: true }));

describe('the admin token of an installation', () => {
  it('is printed from its data directory, whether it runs or not, and alone', async () => {
    const { adminToken } = await readOrCreateSecrets(directory, false);

    const stopped = await runAdminInHost(['admin-token', 'show', '--json', '--data-dir', directory], {});
    assert.deepEqual(JSON.parse(stopped.stdout), { token: adminToken });

    await publishInstance(directory, { environment: { ADMIN_TOKEN: adminToken } });
    const running = await runAdminInHost(['admin-token', 'show', '--json'], { DATA_DIR: directory });
    assert.deepEqual(JSON.parse(running.stdout), { url: 'http://127.0.0.1:2/admin', token: adminToken });
  });

  it('is the one that its operator set, if any', async () => {
    await readOrCreateSecrets(directory, false);
    const file = path.join(directory, 'token');
    await writeFile(file, `${'own '.replace(' ', '-').repeat(10)}\n`);
    await publishInstance(directory, { environment: { ADMIN_TOKEN_FILE: file } });

    const { stdout, stderr } = await runAdminInHost(['admin-token', 'show'], { DATA_DIR: directory });

    assert.equal(stdout, `${'own-'.repeat(10)}\n`, 'nothing but the token, so that it can be piped');
    assert.match(stderr, /http:\/\/127\.0\.0\.1:2\/admin/);
  });

  it('is reported as missing when the directory is not a data directory', async () => {
    const empty = path.join(directory, 'empty');
    await mkdir(empty);

    const { code, stderr, stdout } = await runAdminInHost(['admin-token', 'show', '--data-dir', empty], {});

    assert.equal(code, 1);
    assert.equal(stdout, '');
    assert.match(stderr, /has no admin token: npm start makes one there/);
  });

  it('is the only output of admin that needs no database', async () => {
    const { code, stderr } = await runAdminInHost(['accounts', 'list', '--data-dir', directory], {});

    assert.equal(code, 1);
    assert.match(stderr, /^nothing runs on the data directory .*: run npm start first/);
  });
});
