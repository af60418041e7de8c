/**
 * Every regular expression that is written in the program, and what is known about its running time. Most are proved
 * to be linear by `recheck`; that takes minutes for all of them, so the proved ones are recorded by a hash in
 * regular-expressions.json, and only new ones are checked. Those that are not linear are listed there too, with the
 * reason why no input can make them take long.
 *
 * `npm test -- test/bounds/regular-expressions.test.ts` names those that have to be added; `npm run ts --
 * test/bounds/remember-regular-expressions.ts` records those that are proved.
 */
import { PROGRAM_DIRECTORIES } from '../support/program-directories.ts';
import { createHash } from 'node:crypto';
import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';
import { checkSync } from 'recheck';
import { packageFile } from '../../src/config/package-root.ts';

/** Per expression; those that take longer are listed with a reason. */
const CHECK_TIMEOUT_MS = 5_000;

export const KNOWN_FILE = packageFile('test/bounds/regular-expressions.json');

export interface KnownExpressions {
  /** By its source text: why its time is bounded although it is not linear, or not proved to be. */
  readonly bounded: Readonly<Record<string, string>>;
  /** Hashes of those that were proved to be linear. */
  readonly linear: readonly string[];
}

export async function readKnown(): Promise<KnownExpressions> {
  return JSON.parse(await readFile(KNOWN_FILE, 'utf8')) as KnownExpressions;
}

/** All expressions by their source text (`/…/flags`), with their locations. */
export async function findExpressions(): Promise<ReadonlyMap<string, readonly string[]>> {
  const found = new Map<string, string[]>();
  for (const directory of PROGRAM_DIRECTORIES) {
    for (const entry of await readdir(packageFile(directory), { recursive: true })) {
      if (!entry.endsWith('.ts')) continue;
      const file = path.join(directory, entry);
      const source = await readFile(packageFile(file), 'utf8');
      const visitor = new Visitor({
        Literal(node) {
          if (!('regex' in node)) return;
          const text = `/${node.regex.pattern}/${node.regex.flags}`;
          const line = source.slice(0, node.start).split('\n').length;
          found.set(text, [...(found.get(text) ?? []), `${file}:${line}`]);
        },
      });
      visitor.visit(parseSync(file, source).program);
    }
  }
  return found;
}

export function hashOf(expression: string): string {
  return createHash('sha256').update(expression).digest('hex').slice(0, 12);
}

/** @returns undefined if it is proved to be linear, otherwise the finding. */
export function problemOf(expression: string): string | undefined {
  const end = expression.lastIndexOf('/');
  // The backend in JavaScript: the others are programs of other platforms.
  process.env['RECHECK_BACKEND'] = 'pure';
  const verdict = checkSync(expression.slice(1, end), expression.slice(end + 1), { timeout: CHECK_TIMEOUT_MS });
  if (verdict.status === 'safe') return undefined;
  return verdict.status === 'vulnerable' ? verdict.complexity.summary : 'it could not be proved';
}
