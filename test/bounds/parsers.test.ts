/**
 * Counts the calls that read a whole text at once (parsers.ts): each is in the reviewed list with its bound, so that
 * a new one fails here until a reviewer has checked whose text it reads and how long that may be.
 */
import assert from 'node:assert/strict';
import { PROGRAM_DIRECTORIES } from '../support/program-directories.ts';
import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { parseSync, Visitor } from 'oxc-parser';
import { packageFile } from '../../src/config/package-root.ts';
import { PARSERS } from './parsers.ts';

const FUNCTIONS = new Set(['jsonata', 'getRawBody']);
const CLASSES = new Set(['RegExp', 'TextDecoder', 'Busboy']);
/** Of a request or a response: the body as a whole. */
const METHODS = new Set(['json', 'arrayBuffer']);

/** How often each of them is used in a program. */
function usesIn(file: string, source: string): Readonly<Record<string, number>> {
  const uses: Record<string, number> = {};
  const add = (name: string): void => {
    uses[name] = (uses[name] ?? 0) + 1;
  };
  const visitor = new Visitor({
    CallExpression({ callee, arguments: given }) {
      if (callee.type === 'Identifier' && FUNCTIONS.has(callee.name)) add(callee.name);
      if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier') return;
      const { name } = callee.property;
      if (callee.object.type === 'Identifier' && callee.object.name === 'JSON' && name === 'parse') add('JSON.parse');
      else if (METHODS.has(name) && given.length === 0) add(`.${name}`);
    },
    NewExpression({ callee, arguments: given }) {
      if (callee.type !== 'Identifier' || !CLASSES.has(callee.name)) return;
      if (callee.name !== 'RegExp' || given[0]?.type !== 'Literal') add(callee.name);
    },
  });
  visitor.visit(parseSync(file, source).program);
  return uses;
}

describe('code that reads a whole text at once', () => {
  it('is in the list of parsers, with what limits its input', async () => {
    const found: Record<string, Readonly<Record<string, number>>> = {};
    for (const directory of PROGRAM_DIRECTORIES) {
      for (const entry of await readdir(packageFile(directory), { recursive: true })) {
        if (!entry.endsWith('.ts')) continue;
        const file = path.join(directory, entry);
        const uses = usesIn(file, await readFile(packageFile(file), 'utf8'));
        if (Object.keys(uses).length > 0) found[file] = uses;
      }
    }

    const listed = Object.fromEntries(Object.entries(PARSERS).map(([file, { uses }]) => [file, uses]));
    assert.deepEqual(found, listed);
  });

  it('is found by the search', () => {
    const source = 'JSON.parse(a); new RegExp(a); new RegExp("b"); await answer.json(); new TextDecoder(); jsonata(x);';

    assert.deepEqual(usesIn('a.ts', source), { 'JSON.parse': 1, RegExp: 1, '.json': 1, TextDecoder: 1, jsonata: 1 });
  });
});
