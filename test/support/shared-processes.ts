/**
 * Test files that share a process. To load the program takes one to two seconds of a core, more than most files take
 * to run; so the files of these directories run several to a process, one after the other, each as a suite with hooks
 * of its own. Nothing that they leave behind in the process may be noticed by another.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { packageModule } from '../../src/config/package-root.ts';
import { groupOf } from './file-durations.ts';

/** So few that all cores have work until the end. */
const FILES_PER_PROCESS = 6;

/** Directories below `test`, and packages. Not `egress`, whose tests replace how all of the process connects. */
const SHARING: ReadonlySet<string> = new Set([
  'accounts',
  'activities',
  'billing',
  'callbacks',
  'catalogue',
  'config',
  'database',
  'docs',
  'domain',
  'e2e',
  'engines',
  'generation',
  'http',
  'objects',
  'presenters',
  'processes',
  'providers',
  'tasks',
  'telemetry',
  'temporal',
  'text',
  'upstreams',
  'workflows',
]);

export interface TestProcesses {
  /** The modules to run, each in a process: compiled test files, and those made here, which import several of them. */
  readonly modules: readonly string[];
  /** Removes the modules that were made here. */
  close(): Promise<void>;
}

/** @param files sources below the root, in the order in which they are to start. */
export async function shareProcesses(files: readonly string[]): Promise<TestProcesses> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-test-processes-'));
  const modules: string[] = [];
  const sharing = new Map<string, string[]>();
  for (const file of files) {
    const group = groupOf(file);
    if (SHARING.has(group)) sharing.set(group, [...(sharing.get(group) ?? []), file]);
    else modules.push(packageModule(file));
  }
  for (const [group, members] of sharing) {
    const count = Math.ceil(members.length / FILES_PER_PROCESS);
    for (let index = 0; index < count; index++) {
      const module = path.join(directory, `${group}-${index + 1}.mjs`);
      await writeFile(module, moduleOf(members.filter((_, place) => place % count === index)));
      modules.push(module);
    }
  }
  return { modules, close: () => rm(directory, { recursive: true, force: true }) };
}

function moduleOf(files: readonly string[]): string {
  const loader = pathToFileURL(packageModule('test/support/load-test-file.ts')).href;
  const suites = files.map((file) => {
    const url = pathToFileURL(packageModule(file)).href;
    return `suite(${JSON.stringify(file)}, () => loadTestFile(${JSON.stringify(url)}));`;
  });
  return [
    `import { suite } from 'node:test';`,
    `import { loadTestFile } from ${JSON.stringify(loader)};`,
    ...suites,
    '',
  ].join('\n');
}
