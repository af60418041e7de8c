/** A release of Node other than the machine's, as published on npm, for machines that reach only the registry. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

/** That of the container image. */
export const NODE_24 = '24.21.0';

/** @param directory for its files. @returns its executable. */
export async function obtainNode(directory: string, version: string): Promise<string> {
  const name = `node-${process.platform}-${process.arch}`;
  await writeFile(path.join(directory, 'package.json'), JSON.stringify({ private: true }));
  const options = ['--no-audit', '--no-fund', '--ignore-scripts'];
  await promisify(execFile)('npm', ['install', ...options, `${name}@${version}`], { cwd: directory });
  return path.join(directory, 'node_modules', name, 'bin/node');
}
