/**
 * Reads what docker-compose.yml gives its services, so that the same topology can be run without containers. Knows only
 * the plain forms that our own file uses, and fails loudly on anything else.
 */
import { readFileSync } from 'node:fs';
import { packageFile } from '../../src/config/package-root.ts';

export const COMPOSE_FILE = packageFile('docker-compose.yml');

/**
 * The environment that a service or an `x-…` block is given.
 *
 * @param path the keys that lead to the mapping, e.g. `['services', 'temporal', 'environment']`.
 * @param values the content of `.env`; a variable without a value gets its default, or is missing and reported.
 */
export function composeEnvironment(
  path: readonly string[],
  values: Readonly<Record<string, string>>,
): Record<string, string> {
  const lines = readFileSync(COMPOSE_FILE, 'utf8').split('\n');
  let place = 0;
  for (const [depth, key] of path.entries()) {
    const start = new RegExp(`^ {${depth * 2}}${key}:`);
    place = lines.findIndex((line, at) => at >= place && start.test(line)) + 1;
    if (place === 0) throw new Error(`docker-compose.yml has no ${path.join('.')}`);
  }
  const indent = ' '.repeat(path.length * 2);
  const environment: Record<string, string> = {};
  for (const line of lines.slice(place)) {
    if (line.trim().startsWith('#')) continue;
    if (!line.startsWith(indent) || line.startsWith(`${indent} `)) break;
    const match = /^([A-Z0-9_]+): (.+)$/.exec(line.trim());
    if (match === null) throw new Error(`docker-compose.yml: not understood: ${line}`);
    const [, name = '', text = ''] = match;
    environment[name] = interpolate(text.replace(/^'(.*)'$/, '$1'), values);
  }
  if (Object.keys(environment).length === 0) throw new Error(`docker-compose.yml: ${path.join('.')} is empty`);
  return environment;
}

function interpolate(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\$\{([A-Z0-9_]+):([-?])([^}]*)\}/g, (_all, name: string, sign: string, rest: string) => {
    const value = values[name] ?? '';
    if (value !== '') return value;
    if (sign === '-') return rest;
    throw new Error(`${name} ${rest}`);
  });
}

/** The image of a service if no variable overrides it, as `[name, tag]`; without its digest, if any. */
export function composeImage(service: string): readonly [string, string] {
  const match = new RegExp(`^  ${service}:\\n    image: \\$\\{[A-Z_]+:-([^:\\n]+):([^@\\s]+)(@\\S+)?\\}$`, 'm').exec(
    readFileSync(COMPOSE_FILE, 'utf8'),
  );
  if (match === null) throw new Error(`docker-compose.yml: ${service} begins with no image`);
  return [match[1] ?? '', match[2] ?? ''];
}
