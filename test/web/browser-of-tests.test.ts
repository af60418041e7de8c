/** The browser of the tests, on a machine that never had it. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { packageModule } from '../../src/config/package-root.ts';

const LAUNCH = `
  const { launchBrowser } = await import('${pathToFileURL(packageModule('test/support/browser.ts')).href}');
  const browser = await launchBrowser();
  process.stdout.write(browser.version());
  await browser.close();`;

describe('the browser of the tests', () => {
  let cache: string;
  before(async () => {
    cache = await mkdtemp(path.join(os.tmpdir(), 'darkroom-browser-'));
  });
  after(() => rm(cache, { recursive: true, force: true }));

  it('starts in several processes that are the first to need it', async () => {
    const starts = Array.from({ length: 3 }, () =>
      promisify(execFile)(process.execPath, ['--input-type=module', '--eval', LAUNCH], {
        env: { ...process.env, XDG_CACHE_HOME: cache },
      }),
    );

    for (const { stdout } of await Promise.all(starts)) assert.match(stdout, /^\d+\./);

    const left = await readdir(path.join(cache, 'darkroom'));
    assert.deepEqual(
      left.map((name) => name.replace(/[\d.]+$/, '')),
      ['chromium-'],
    );
  });
});
