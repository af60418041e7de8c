/** An empty project, into which our packages are installed as their users do it, and in which code is run. */
import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { packageFile } from '../../src/config/package-root.ts';
import type { Snippet } from '../sdk/snippets.ts';

const run = promisify(execFile);

/** Long enough for any snippet, on a machine that does other things as well. */
const SNIPPET_TIMEOUT_MS = 180_000;

export class EmptyProject {
  readonly directory: string;
  readonly #environment: NodeJS.ProcessEnv;

  /** @param variables of the programs in it, beside `PATH` and `HOME`. */
  constructor(directory: string, variables: Readonly<Record<string, string>>) {
    this.directory = directory;
    this.#environment = { PATH: process.env['PATH'], HOME: process.env['HOME'], ...variables };
  }

  /** Writes a file and runs it. @returns what it printed. @throws {Error} it failed; the message has its stderr. */
  async runFile(program: string, name: string, code: string): Promise<string> {
    const file = path.join(this.directory, name);
    await writeFile(file, code);
    const { stdout } = await run(program, [file], {
      cwd: this.directory,
      env: this.#environment,
      timeout: SNIPPET_TIMEOUT_MS,
    });
    return stdout;
  }

  /** The same for a program that goes on. @returns its process; the caller ends it. */
  async startFile(
    program: string,
    name: string,
    code: string,
    variables: Readonly<Record<string, string>>,
  ): Promise<ChildProcess & { readonly stdout: NonNullable<ChildProcess['stdout']> }> {
    const file = path.join(this.directory, name);
    await writeFile(file, code);
    return spawn(program, [file], {
      cwd: this.directory,
      env: { ...this.#environment, ...variables },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
  }

  close(): Promise<void> {
    return rm(this.directory, { recursive: true, force: true });
  }
}

/** Packs packages of the workspace as a release does. @returns their files. */
export async function packPackages(names: readonly string[], directory: string): Promise<readonly string[]> {
  const files: string[] = [];
  for (const name of names) {
    const args = ['pack', '--json', '--pack-destination', directory];
    const { stdout } = await run('npm', args, { cwd: packageFile(`packages/${name}`), env: process.env });
    const packed = /"filename": "([^"]+)"/.exec(stdout)?.[1];
    if (packed === undefined) throw new Error(`npm pack printed no file: ${stdout}`);
    files.push(path.join(directory, packed.replace('@', '').replace('/', '-')));
  }
  return files;
}

/** @param packages what `npm install` takes. */
export async function createNodeProject(
  packages: readonly string[],
  variables: Readonly<Record<string, string>>,
): Promise<EmptyProject> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-empty-'));
  await writeFile(path.join(directory, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
  const options = ['--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'];
  await run('npm', ['install', ...options, ...packages], { cwd: directory });
  return new EmptyProject(directory, variables);
}

/** The name of a snippet in the list of tests. */
export function titleOf({ heading, name }: Snippet): string {
  return name === undefined ? heading : `${heading} (${name})`;
}
