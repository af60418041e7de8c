/**
 * Counts the ways out of the program: every import through which a connection can be opened, every process that is
 * started, every use of a global that connects, and every package. Each is in the reviewed list (ways-out.ts) with
 * its reason, so that a new one fails here until it is reviewed. The linter rejects the plain ones while they are
 * being written; this also sees packages, computed imports and processes.
 */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import path from 'node:path';
import { describe, it } from 'node:test';
import { PROGRAM_DIRECTORIES } from '../support/program-directories.ts';
import { PACKAGE_ROOT } from '../../src/config/package-root.ts';
import { CONNECTING, PACKAGES_THAT_CONNECT, PACKAGES_THAT_DO_NOT } from './ways-out.ts';

// Of the clients only what the api uses too: the command line is a program of its own, and connects where its user
// chooses.
const PROGRAM = [...PROGRAM_DIRECTORIES, 'packages/mcp/src'];

/** Builtin modules that can reach anything outside the process. */
const CONNECTING_BUILTINS =
  /^(?:https?|http2|net|tls|dgram|dns(?:\/promises)?|inspector(?:\/promises)?|quic|child_process|cluster)$/;
/** Names that reach nothing: they listen, parse or describe. */
const HARMLESS_NAMES = new Set(['createServer', 'isIP', 'isIPv4', 'isIPv6', 'BlockList', 'STATUS_CODES', 'Server']);
const CONNECTING_GLOBALS =
  /(?<![.\w'"`-])(?:globalThis\s*\.\s*)?(?<name>fetch|WebSocket|EventSource|XMLHttpRequest)\s*\(/g;
/** Constructs that could load anything under a name that is not written here. */
const COMPUTED =
  /\b(?:import\s*\((?!\s*['"`][\w@.:/-]+['"`]\s*\))|createRequire\b|process\s*\.\s*(?:binding|dlopen|getBuiltinModule)\b|loadImage\b|eval\s*\(|new Function\b)/g;

const IMPORT =
  /\bimport\s+(?<type>type\s+)?(?:(?<what>[\w*{}\s,$]+?)\s+from\s+)?['"](?<from>[^'"]+)['"]|\bimport\s*\(\s*['"`](?<dynamic>[^'"`]+)['"`]\s*\)|\bexport\s+(?<exportType>type\s+)?[\w*{}\s,$]+?\s+from\s+['"](?<again>[^'"]+)['"]/g;

interface Found {
  readonly ways: readonly string[];
  readonly packages: readonly string[];
}

/** Source without its comments; the content of strings stays, which can only find too much. */
function codeOf(file: string): string {
  return readFileSync(path.join(PACKAGE_ROOT, file), 'utf8')
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/(?<=^|\s)\/\/.*$/gm, '');
}

/** Names that an import provides as values, `*` and `default` included. */
function valuesOf(what: string | undefined): readonly string[] {
  if (what === undefined) return ['*'];
  const [plain = ''] = what.split('{');
  const named = /\{(?<names>[\s\S]*)\}/.exec(what)?.groups?.['names'] ?? '';
  return [
    ...plain.split(',').flatMap((name) => (name.trim() === '' ? [] : [name.includes('*') ? '*' : 'default'])),
    ...named.split(',').flatMap((name) => {
      const [first = ''] = name.trim().split(/\s+as\s+/);
      return first === '' || first.startsWith('type ') ? [] : [first];
    }),
  ];
}

function waysOutOf(code: string): Found {
  const ways = new Set<string>();
  const packages = new Set<string>();
  for (const { groups = {} } of code.matchAll(IMPORT)) {
    if (groups['type'] !== undefined || groups['exportType'] !== undefined) continue;
    const from = groups['from'] ?? groups['dynamic'] ?? groups['again'] ?? '';
    const values = groups['from'] === undefined ? ['*'] : valuesOf(groups['what']);
    if (from.startsWith('.') || values.length === 0) continue;
    const name = from.replace(/^node:/, '');
    if (!isBuiltin(from)) {
      // Our own packages are read like the program.
      if (!from.startsWith('@darkroom/')) packages.add(from.split('/', from.startsWith('@') ? 2 : 1).join('/'));
    } else if (CONNECTING_BUILTINS.test(name)) {
      for (const value of values) if (!HARMLESS_NAMES.has(value)) ways.add(`${name}.${value}`);
    }
  }
  for (const { groups } of code.matchAll(CONNECTING_GLOBALS)) ways.add(groups?.['name'] ?? '');
  for (const [text] of code.matchAll(COMPUTED)) ways.add(text.replaceAll(/[\s(]/g, ''));
  return { ways: [...ways].toSorted(), packages: [...packages].toSorted() };
}

const files = PROGRAM.flatMap((directory) =>
  readdirSync(path.join(PACKAGE_ROOT, directory), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => path.posix.join(directory, file.replaceAll(path.sep, '/'))),
);
const found = new Map(files.map((file) => [file, waysOutOf(codeOf(file))]));

describe('the outgoing connections of the program', () => {
  it('are the reviewed ones, file by file', () => {
    const ways = Object.fromEntries([...found].flatMap(([file, { ways }]) => (ways.length > 0 ? [[file, ways]] : [])));
    const reviewed = Object.fromEntries(
      Object.entries(CONNECTING).map(([file, { ways }]) => [file, ways.toSorted()] as const),
    );

    assert.deepEqual(ways, reviewed);
    for (const { reason } of Object.values(CONNECTING)) assert.ok(reason.length > 20);
  });

  it('are in no package that was not reviewed, and packages that connect are used only where allowed', () => {
    const used = new Map<string, string[]>();
    for (const [file, { packages }] of found) {
      for (const name of packages) used.set(name, [...(used.get(name) ?? []), file]);
    }
    const known = new Set<string>([...PACKAGES_THAT_DO_NOT, ...Object.keys(PACKAGES_THAT_CONNECT)]);

    assert.deepEqual(
      [...used.keys()].filter((name) => !known.has(name)),
      [],
    );
    assert.deepEqual(
      [...known].filter((name) => !used.has(name)),
      [],
    );
    for (const [name, { files }] of Object.entries(PACKAGES_THAT_CONNECT)) {
      assert.deepEqual(used.get(name)?.toSorted(), files.toSorted(), name);
    }
  });
});

describe('the linter', () => {
  interface LintConfig {
    readonly overrides: readonly {
      readonly files: readonly string[];
      readonly rules: Readonly<Record<string, unknown>>;
    }[];
  }
  const { overrides } = JSON.parse(readFileSync(path.join(PACKAGE_ROOT, '.oxlintrc.json'), 'utf8')) as LintConfig;
  const isOfProgram = (file: string): boolean => PROGRAM.some((directory) => file.startsWith(`${directory}/`));

  it('rejects outgoing calls in the whole program, except in the reviewed files', () => {
    const [everywhere, ...others] = overrides.filter(({ rules }) => rules['no-restricted-imports'] !== undefined);
    const reviewed = new Set([...Object.keys(CONNECTING), ...(PACKAGES_THAT_CONNECT['undici']?.files ?? [])]);

    assert.deepEqual(everywhere?.files, [
      'packages/api/src/**',
      'packages/engines/src/**',
      'packages/media/src/**',
      'packages/offline-text/src/**',
      'packages/seeded-random/src/**',
      'src/**',
      'activities/**',
    ]);
    assert.ok(JSON.stringify(everywhere?.rules).includes('test/egress/ways-out.ts'));
    // A later override replaces the whole rule. Workflows may import nothing but their own package and types.
    const replaced = others.flatMap(({ files }) => files).filter((file) => isOfProgram(file) && !reviewed.has(file));
    assert.deepEqual(replaced, ['workflows/**']);
  });

  it('rejects globals that connect, except in the reviewed files', () => {
    const off = overrides.filter(({ rules }) => rules['no-restricted-globals'] === 'off').flatMap(({ files }) => files);
    const using = Object.entries(CONNECTING).filter(([, { ways }]) => ways.includes('fetch'));

    // The page's script is a string to the linter.
    assert.deepEqual(
      off.toSorted(),
      using
        .map(([file]) => file)
        .filter((file) => !file.endsWith('routes/reference.ts'))
        .toSorted(),
    );
  });
});

describe('counting outgoing calls', () => {
  const SEEN: readonly (readonly [string, readonly string[]])[] = [
    [`import { request } from 'node:https';`, ['https.request']],
    [`import http, { createServer } from 'http';`, ['http.default']],
    [`import * as net from 'node:net';`, ['net.*']],
    [`import { isIP, type Socket,\n  connect as go } from "node:net";`, ['net.connect']],
    [`export { lookup } from 'node:dns';`, ['dns.*']],
    [`const tls = await import('node:tls');`, ['tls.*']],
    ['await import(name);', ['import']],
    ['await import(`node:${name}`);', ['import']],
    [`const load = createRequire(import.meta.url);`, ['createRequire']],
    [`await globalThis.fetch(url); new WebSocket(url)`, ['WebSocket', 'fetch']],
    [`import 'node:inspector';`, ['inspector.*']],
    [`process.getBuiltinModule('net')`, ['process.getBuiltinModule']],
  ];
  for (const [code, ways] of SEEN) {
    it(`detects ${JSON.stringify(code)}`, () => assert.deepEqual(waysOutOf(code).ways, ways));
  }

  for (const code of [
    `import type { Socket } from 'node:net';`,
    `import { createServer, type Agent } from 'node:http';`,
    `const answer = await store.fetch(key);`,
    `import { isIP } from 'node:net';`,
  ]) {
    it(`ignores ${JSON.stringify(code)}`, () => assert.deepEqual(waysOutOf(code).ways, []));
  }

  it('detects packages by name, except type imports', () => {
    const code = `import axios from 'axios/lib'; import type { A } from 'left'; import { S3 } from '@aws-sdk/client-s3/x';`;
    assert.deepEqual(waysOutOf(code).packages, ['@aws-sdk/client-s3', 'axios']);
  });
});
