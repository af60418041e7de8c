/**
 * How much there is to understand, as a table: files of the service and their length, tests, documents and the top level.
 * `npm run check` prints it at its end, from a clone of the repository. Nothing fails because of it.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

const ROOT = path.join(import.meta.dirname, '..');
const SERVICE = /^(src|workflows|activities)\/.*\.ts$/;
/** Histories of workflows are recorded, not written. */
const TEST = /^test\/(?!histories\/|bench\/).*\.(ts|mjs|tsv|sql|go|py)$/;
const SHORT_LINES = 40;
const JOINABLE_LINES = 60;
/** A rule or the alignment of a table is no word. */
const TABLE_RULE = /^[|:-]+$/;

async function trackedFiles() {
  const { stdout } = await promisify(execFile)('git', ['ls-files', '-z'], { cwd: ROOT, maxBuffer: 16 * 1024 * 1024 });
  return stdout.split('\0').filter((file) => file !== '');
}

async function readAll(files) {
  const texts = await Promise.all(
    files.map(async (file) => [file, await readFile(path.join(ROOT, file), 'utf8').catch(() => undefined)]),
  );
  // A file that is deleted and not yet committed is gone.
  return new Map(texts.filter(([, text]) => text !== undefined));
}

const linesOf = (text) => text.split('\n').length - 1;
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
const medianOf = (numbers) => numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? 0;

/** Lines of import declarations, those of several lines included. */
function importLinesOf(text) {
  return sum([...text.matchAll(/^import\b[^;]*;$/gm)].map(([declaration]) => linesOf(`${declaration}\n`)));
}

function importedBy(file, text) {
  return [...text.matchAll(/from '(\.[^']+)'/g)].map(([, to]) => path.join(path.dirname(file), to));
}

/** Short files that exactly one file imports, in the same directory: candidates to join with it. */
export function joinable(service, everything) {
  const importers = new Map();
  for (const [file, text] of everything) {
    if (!/\.(ts|mjs)$/.test(file)) continue;
    for (const imported of importedBy(file, text)) importers.set(imported, [...(importers.get(imported) ?? []), file]);
  }
  return [...service].flatMap(([file, text]) => {
    const [importer, ...others] = (importers.get(file) ?? []).filter((by) => SERVICE.test(by));
    const isNear = importer !== undefined && path.dirname(importer) === path.dirname(file);
    return linesOf(text) < JOINABLE_LINES && isNear && others.length === 0 ? [[file, importer]] : [];
  });
}

/** @returns each figure with its name, in the order in which they are printed. */
export async function measureProportions() {
  const tracked = await trackedFiles();
  const texts = await readAll(tracked.filter((file) => /\.(ts|mjs|tsv|sql|go|py|md)$/.test(file)));
  const select = (pattern) => new Map([...texts].filter(([file]) => pattern.test(file)));
  const service = select(SERVICE);
  const lengths = [...service.values()].map(linesOf);
  const words = sum(
    [...select(/\.md$/).values()].map(
      (text) => text.split(/\s+/).filter((word) => word !== '' && !TABLE_RULE.test(word)).length,
    ),
  );
  return {
    'service: files': lengths.length,
    'service: median lines of a file': medianOf(lengths),
    [`service: files under ${SHORT_LINES} lines`]: lengths.filter((lines) => lines < SHORT_LINES).length,
    [`service: files under ${JOINABLE_LINES} lines with one importer beside them`]: joinable(service, texts).length,
    'service: lines': sum(lengths),
    'service: lines of imports': sum([...service.values()].map(importLinesOf)),
    'tests: lines without histories': sum([...select(TEST).values()].map(linesOf)),
    'documents: words': words,
    'top level: entries': new Set(tracked.map((file) => file.split('/')[0])).size,
  };
}

if (process.argv[1] === import.meta.filename) {
  const figures = Object.entries(await measureProportions());
  for (const [name, figure] of figures) console.log(`${String(figure).padStart(8)}  ${name}`);
  if (process.argv.includes('--joinable')) {
    const texts = await readAll((await trackedFiles()).filter((file) => /\.(ts|mjs)$/.test(file)));
    const service = new Map([...texts].filter(([file]) => SERVICE.test(file)));
    for (const [file, importer] of joinable(service, texts)) console.log(`${file} → ${path.basename(importer)}`);
  }
}
