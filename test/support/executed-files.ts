/**
 * Which files of the service ran, in the processes of an installation that was started with `coverageEnvironment`: V8
 * counts the calls of each function between two readings.
 */
import { readFile, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageFile } from '../../src/config/package-root.ts';
import { BUILT_BUNDLE } from '../../src/temporal/workflow-bundle.ts';
import { waitFor } from '@darkroom/testing/wait-for';

interface ScriptCoverage {
  readonly url: string;
  readonly functions: readonly {
    readonly functionName: string;
    readonly ranges: readonly { readonly startOffset: number; readonly count: number }[];
  }[];
}

/** Functions by their position in the program as it was built, each with its source file. */
export type Executed = ReadonlyMap<string, string>;

const DIST = packageFile('dist');
const SERVICE = /^(src|workflows|activities)\//;
/** The bundle of the workflows names each module before its code. */
const MODULE = /^\/\*\*\*\/ "\.\/dist\/([^"]+)\.js"/gm;

/** The variables with which the processes write their coverage into a directory. */
export function coverageEnvironment(directory: string): Readonly<Record<string, string>> {
  const preload = packageFile('test/support/report-coverage.mjs');
  return { NODE_V8_COVERAGE: directory, NODE_OPTIONS: `--import=${preload}` };
}

/** What ran in the main thread of a process since it was asked last. */
export async function takeExecuted(pid: number, directory: string): Promise<Executed> {
  process.kill(pid, 'SIGUSR2');
  const read = (): Promise<readonly ScriptCoverage[]> => readCoverage(pid, directory);
  await waitFor('the process reports what ran', async () => (await read()).length > 0);
  const executed = executedOf(await read(), fileOfModule);
  for (const file of await filesOf(pid, directory)) await rm(file);
  return executed;
}

/** What ran in the workflow threads of a worker that has ended. */
export async function executedWorkflows(pid: number, directory: string): Promise<Executed> {
  const bundle = await readFile(BUILT_BUNDLE, 'utf8');
  const modules = [...bundle.matchAll(MODULE)].map(({ index, 1: name = '' }) => ({ index, file: `${name}.ts` }));
  return executedOf(await readCoverage(pid, directory), (url, offset, functionName) =>
    // The function around a module has no name.
    url.endsWith(path.basename(BUILT_BUNDLE)) && functionName !== ''
      ? modules.findLast(({ index }) => index <= offset)?.file
      : undefined,
  );
}

function executedOf(
  scripts: readonly ScriptCoverage[],
  fileOf: (url: string, offset: number, functionName: string) => string | undefined,
): Executed {
  const executed = new Map<string, string>();
  for (const { url, functions } of scripts) {
    for (const { functionName, ranges } of functions) {
      const [{ startOffset, count } = { startOffset: 0, count: 0 }] = ranges;
      const file = count === 0 ? undefined : fileOf(url, startOffset, functionName);
      if (file !== undefined && SERVICE.test(file)) executed.set(`${file}:${startOffset}`, file);
    }
  }
  return executed;
}

function fileOfModule(url: string, offset: number): string | undefined {
  // The code of the module itself runs when it is loaded.
  if (!url.startsWith('file:') || offset === 0) return undefined;
  return path.relative(DIST, fileURLToPath(url)).replace(/\.js$/, '.ts');
}

async function filesOf(pid: number, directory: string): Promise<readonly string[]> {
  const names = await readdir(directory).catch(() => []);
  return names.filter((name) => name.startsWith(`coverage-${pid}-`)).map((name) => path.join(directory, name));
}

/** @returns nothing while a file is not complete. */
async function readCoverage(pid: number, directory: string): Promise<readonly ScriptCoverage[]> {
  const texts = await Promise.all((await filesOf(pid, directory)).map((file) => readFile(file, 'utf8')));
  try {
    return texts.flatMap((text) => (JSON.parse(text) as { readonly result: readonly ScriptCoverage[] }).result);
  } catch (error) {
    if (error instanceof SyntaxError) return [];
    throw error;
  }
}
