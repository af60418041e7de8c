/** What the pages for operators name exists: tests, documents and commands. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { describe, it } from 'node:test';
import { packageFile } from '../../src/config/package-root.ts';

const PAGES = ['README.md', 'SECURITY.md', 'CONTRIBUTING.md', ...operationsPages()];
const FILE = /(?<![\w./-])(?:test|docs|docker|bench|models|migrations)\/[\w./-]+\.\w+/g;
const SCRIPT = /npm run ([\w:]+)/g;
/** Temporal's Web UI, by its port. */
const WEB_UI = /https?:\/\/[\w.-]+:8233[^\s)>`]*/g;
const TASKS = '/workflows?query=WorkflowType%3D%22mediaTask%22';

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
});
