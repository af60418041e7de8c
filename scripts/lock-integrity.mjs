/**
 * Adds the integrity hashes that are missing in package-lock.json, as the registry reports them. npm writes none for a
 * package of another platform that it never downloaded, and would later install it unverified.
 *
 * Usage: node scripts/lock-integrity.mjs
 */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const LOCK = path.join(path.dirname(path.dirname(fileURLToPath(import.meta.url))), 'package-lock.json');
const TIMEOUT_MS = 30_000;

/** @returns {Promise<string | undefined>} undefined if the registry does not have this version. */
async function integrityOf(name, version) {
  const result = await promisify(execFile)('npm', ['view', `${name}@${version}`, 'dist.integrity'], {
    timeout: TIMEOUT_MS,
  }).catch(() => ({ stdout: '' }));
  return /^sha512-\S+$/m.exec(result.stdout)?.[0];
}

const lock = JSON.parse(await readFile(LOCK, 'utf8'));
const left = [];
for (const [location, entry] of Object.entries(lock.packages)) {
  if (!location.includes('node_modules/') || entry.link === true || entry.integrity !== undefined) continue;
  const name = location.slice(location.lastIndexOf('node_modules/') + 'node_modules/'.length);
  const integrity = await integrityOf(name, entry.version);
  if (integrity === undefined) left.push(name);
  else {
    // In the position where npm itself puts it.
    const { version, ...rest } = entry;
    lock.packages[location] = { version, integrity, ...rest };
  }
}
await writeFile(LOCK, `${JSON.stringify(lock, undefined, 2)}\n`);
process.stderr.write(
  left.length === 0 ? 'Every package has its hash.\n' : `The registry does not have: ${left.join(', ')}\n`,
);
process.exitCode = left.length === 0 ? 0 : 1;
