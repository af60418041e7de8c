/** What the pages for operators name exists: tests, documents, commands and log lines. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { describe, it } from 'node:test';
import { packageFile } from '../../src/config/package-root.ts';
import { PROGRAM_DIRECTORIES } from '../support/program-directories.ts';

const PAGES = ['README.md', 'SECURITY.md', 'CONTRIBUTING.md', 'docs/architecture.md', ...operationsPages()];
const FILE =
  /(?<![\w./-])(?:activities|deploy|docs|migrations|models|packages|scripts|src|test|workflows)\/[\w./-]+\.\w+/g;
const SCRIPT = /npm run ([\w:]+)/g;
/** Temporal's Web UI, by its port. */
const WEB_UI = /https?:\/\/[\w.-]+:8233[^\s)>`]*/g;
const TASKS = '/workflows?query=WorkflowType%3D%22mediaTask%22';
/** Pages that quote log lines, of which `…` is filled in. */
const QUOTING = ['docs/operations/runbook.md', 'docs/operations/observe.md'];
const QUOTED = /`([^`\n]+)`/g;
/** Several words in backticks are a log line, unless they are something to type or a piece of JSON. */
const TYPED = /^(?:admin|chronyc|curl|darkroom|docker|grep|kubectl|npm|psql|systemctl|DELETE|GET|POST|SELECT) |^"/;

function operationsPages(): readonly string[] {
  return readdirSync(packageFile('docs/operations')).map((name) => `docs/operations/${name}`);
}

describe('the pages for operators', () => {
  const scripts = (JSON.parse(readFileSync(packageFile('package.json'), 'utf8')) as { scripts: object }).scripts;

  it('name files and commands', () => {
    const all = PAGES.map((page) => readFileSync(packageFile(page), 'utf8')).join('\n');

    assert.ok((all.match(FILE) ?? []).length > 0);
    assert.ok((all.match(SCRIPT) ?? []).length > 0);
  });

  for (const page of PAGES) {
    it(`${page} names existing files and commands`, () => {
      const text = readFileSync(packageFile(page), 'utf8');
      const named = text.match(FILE) ?? [];
      assert.deepEqual(
        named.filter((file) => !existsSync(packageFile(file))),
        [],
      );
      for (const [, script = ''] of text.matchAll(SCRIPT)) assert.ok(Object.hasOwn(scripts, script), script);
    });

    it(`${page} links only to the task list of the Web UI`, () => {
      const links = readFileSync(packageFile(page), 'utf8').match(WEB_UI) ?? [];
      assert.deepEqual(
        links.filter((link) => !link.endsWith(TASKS)),
        [],
      );
    });
  }

  for (const page of QUOTING) {
    it(`${page} quotes log lines as the program writes them`, () => {
      const text = readFileSync(packageFile(page), 'utf8').replaceAll(/^```[\s\S]*?^```/gm, '');
      const sources = program();
      const quoted = [...text.matchAll(QUOTED)]
        .map(([, line = '']) => line)
        .filter((line) => line.includes(' ') && !TYPED.test(line));

      assert.ok(quoted.length > 0);
      assert.deepEqual(
        quoted.filter((line) => !line.split('…').every((part) => sources.includes(part.trim()))),
        [],
      );
    });
  }
});

/** The sources of everything that logs. */
function program(): string {
  return PROGRAM_DIRECTORIES.flatMap((directory) =>
    readdirSync(packageFile(directory), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => readFileSync(packageFile(`${directory}/${file}`), 'utf8')),
  ).join('\n');
}
