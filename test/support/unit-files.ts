/**
 * The unit tests: files that start nothing. They use neither PostgreSQL nor Temporal nor a browser, and
 * start no process, themselves or through what they import from the tests.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseSync } from 'oxc-parser';
import { PACKAGE_ROOT } from '../../src/config/package-root.ts';

/** What starts services, browsers and processes. */
const STARTING: ReadonlySet<string> = new Set([
  'node:child_process',
  'src/standalone/part.ts',
  '@darkroom/testing/media-processes',
  'test/support/browser.ts',
  'test/support/built-program.ts',
  'test/support/test-database.ts',
  'test/support/test-namespace.ts',
]);

/** @param files sources below the root. */
export function selectUnitFiles(files: readonly string[]): string[] {
  const starting = new Map<string, boolean>();
  return files.filter((file) => !startsSomething(file, starting));
}

/** @param known what was found about modules so far; a module that is being looked at counts as starting nothing. */
function startsSomething(file: string, known: Map<string, boolean>): boolean {
  const before = known.get(file);
  if (before !== undefined) return before;
  known.set(file, false);
  const text = readFileSync(path.join(PACKAGE_ROOT, file), 'utf8');
  const { staticImports } = parseSync(file, text).module;
  const imported = staticImports.map(({ moduleRequest }) => sourceOf(moduleRequest.value, file));
  const starts = imported.some(
    (module) => STARTING.has(module) || (isOfTests(module) && startsSomething(module, known)),
  );
  known.set(file, starts);
  return starts;
}

/** A relative import as the source that it names, below the root; any other as it is. */
function sourceOf(module: string, importer: string): string {
  return module.startsWith('.') ? path.join(path.dirname(importer), module) : module;
}

function isOfTests(module: string): boolean {
  return /^(packages\/[^/]+\/)?test\/.*\.ts$/.test(module);
}
