/** What documents link to and what comments cite exists: files, headings, decisions, clauses of the contract. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { packageFile } from '../../src/config/package-root.ts';

const DIRECTORIES = ['packages', 'src', 'activities', 'workflows', 'test', 'migrations', 'docs'];
const IGNORED = /(?:^|\/)(?:node_modules|dist|histories|fixtures)\//;
const READ = /\.(?:ts|tsx|md|sql)$/;

const files = [
  ...readdirSync(packageFile('.')).filter((name) => name.endsWith('.md')),
  ...DIRECTORIES.flatMap((directory) =>
    readdirSync(packageFile(directory), { recursive: true, encoding: 'utf8' }).map((name) =>
      path.posix.join(directory, name.split(path.sep).join('/')),
    ),
  ),
].filter((file) => READ.test(file) && !IGNORED.test(file));

/** A comment's text continues in its next line. */
const texts = new Map(
  files.map((file) => [file, readFileSync(packageFile(file), 'utf8').replaceAll(/\n\s*(?:\*|\/\/|--) ?/g, ' ')]),
);
const pages = files.filter((file) => file.endsWith('.md'));

/** The anchors of a page's headings, as GitHub generates them. */
function anchorsOf(page: string): ReadonlySet<string> {
  return new Set(
    headingsOf(page).map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\- _]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

function headingsOf(page: string): readonly string[] {
  const text = readFileSync(packageFile(page), 'utf8').replaceAll(/^```[\s\S]*?^```/gm, '');
  return [...text.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) => heading);
}

/** Every match of a pattern in every file but this one, with what is wrong with it. */
function problemsOf(
  pattern: RegExp,
  problemOf: (match: RegExpExecArray, file: string) => string | undefined,
  within: readonly string[] = files,
): readonly string[] {
  const found = within
    .filter((file) => file !== 'test/docs/citations.test.ts')
    .flatMap((file) => [...(texts.get(file) ?? '').matchAll(pattern)].map((match) => ({ file, match })));
  assert.ok(found.length > 0, `${pattern} matches nothing`);
  return found.flatMap(({ file, match }) => {
    const problem = problemOf(match, file);
    return problem === undefined ? [] : [`${file}: ${problem}`];
  });
}

describe('a document', () => {
  it('links only to existing files and headings', () => {
    const problems = problemsOf(
      /\]\((?!https?:|mailto:|<)([^)\s#]*)(?:#([^)\s]+))?\)/g,
      ([link, target = '', anchor], page) => {
        const file = target === '' ? page : path.posix.join(path.posix.dirname(page), target);
        if (!existsSync(packageFile(file))) return link;
        return anchor === undefined || anchorsOf(file).has(anchor) ? undefined : link;
      },
      pages,
    );

    assert.deepEqual(problems, []);
  });
});

describe('a comment', () => {
  it('cites only existing decisions', () => {
    const decisions = readdirSync(packageFile('docs/decisions'));

    const problems = problemsOf(/docs\/decisions\/(\d{4})/g, ([citation, number = '']) =>
      decisions.filter((name) => name.startsWith(`${number}-`)).length === 1 ? undefined : citation,
    );

    assert.deepEqual(problems, []);
  });

  it('cites only existing sources', () => {
    // Tests name some that do not exist, to show what happens then.
    const within = files.filter((file) => !/(?:^|\/)test\//.test(file));

    const problems = problemsOf(
      /(?<![\w./@-])((?:src|activities|workflows|test|packages)\/[\w./-]+\.tsx?)\b/g,
      ([, cited = ''], file) => {
        const [ownPackage = ''] = /^packages\/[^/]+\//.exec(file) ?? [];
        return existsSync(packageFile(cited)) || existsSync(packageFile(ownPackage + cited)) ? undefined : cited;
      },
      within,
    );

    assert.deepEqual(problems, []);
  });

  it('cites only existing documents and headings', () => {
    const problems = problemsOf(/\b(docs\/[\w/-]+\.md)(?:`?, "([^"]+)")?/g, ([citation, page = '', heading]) => {
      if (!existsSync(packageFile(page))) return citation;
      return heading === undefined || headingsOf(page).includes(heading) ? undefined : citation;
    });

    assert.deepEqual(problems, []);
  });

  it('cites only existing clauses of the contract', () => {
    const clauses = new Set(headingsOf('docs/contract.md').map((heading) => heading.split(/\.? /, 1)[0]));

    const problems = problemsOf(/\bcontract §(\d+(?:\.\d+)?)/gi, ([citation, clause = '']) =>
      clauses.has(clause) ? undefined : citation,
    );

    assert.deepEqual(problems, []);
  });

  it('cites only existing headings of the architecture', () => {
    const headings = new Set(headingsOf('docs/architecture.md'));

    const problems = problemsOf(/\barchitecture[,:] "([^"]+)"/gi, ([citation, heading = '']) =>
      headings.has(heading) ? undefined : citation,
    );

    assert.deepEqual(problems, []);
  });
});
