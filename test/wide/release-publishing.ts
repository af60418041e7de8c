/**
 * Runs the scripts of the workflow that publish, with programs that record how they are called: npm, GitHub and the
 * signing service are the far end.
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface Publishing {
  /** Runs a step's script, as GitHub runs it with `shell: bash`. */
  run(script: string | undefined): Promise<void>;
  /** Each call of a program, with its arguments. */
  calls(): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** @param version of a release that has one npm package. */
export async function startPublishing(version: string): Promise<Publishing> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-publishing-'));
  const programs = path.join(directory, 'programs');
  const log = path.join(directory, 'calls.txt');
  await mkdir(programs);
  for (const name of ['npm', 'gh', 'cosign']) {
    // `npm view` of what is not published prints nothing.
    await writeFile(path.join(programs, name), `#!/bin/sh\necho "${name} $*" >> '${log}'\n`, { mode: 0o755 });
  }
  const file = `darkroom-sdk-${version}.tgz`;
  await writeFile(
    path.join(directory, 'release.json'),
    JSON.stringify({ version, artifacts: [{ kind: 'npm', file }] }),
  );
  await mkdir(path.join(directory, 'package'));
  await writeFile(path.join(directory, 'package/package.json'), JSON.stringify({ name: '@darkroom/sdk', version }));
  await run('tar', ['-czf', file, 'package'], { cwd: directory });
  const environment = {
    ...process.env,
    PATH: `${programs}:${process.env['PATH'] ?? ''}`,
    TAG: `v${version}`,
    GITHUB_REPOSITORY: 'Example-Org/Darkroom',
  };
  return {
    async run(script) {
      if (script === undefined) throw new Error('the step has no script');
      await run('bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', script], {
        cwd: directory,
        env: environment,
      });
    },
    calls: async () => (await readFile(log, 'utf8')).trim().split('\n'),
    close: () => rm(directory, { recursive: true, force: true }),
  };
}
