/**
 * Reads the environment into validated values. All problems are collected and reported at once; a secret can come from
 * a file named by `<NAME>_FILE`, as containers and service managers provide them.
 */
import { readFileSync } from 'node:fs';
import { VARIABLES } from './variables.ts';
import type { Variable, VariableName } from './variables.ts';
import { DarkroomError } from '../domain/darkroom-error.ts';
import { isBaseUrl } from '../domain/upstream-names.ts';

/** The environment is unusable; `problems` has one line for each problem. */
export class ConfigurationError extends DarkroomError {
  override readonly name = 'ConfigurationError';
  override readonly kind = 'configuration_invalid';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`the configuration has ${problems.length} problem(s):\n${problems.map((line) => `  - ${line}`).join('\n')}`);
    this.problems = problems;
  }
}

/** What the environment says about upstreams, by their names in lower case. */
export interface UpstreamEnvironment {
  readonly secrets: Readonly<Record<string, string>>;
  /** Paths of files, each with a credential. */
  readonly secretFiles: Readonly<Record<string, string>>;
  readonly baseUrls: Readonly<Record<string, string>>;
}

const LONG_SECRET_CHARACTERS = 32;

/** Reads variables by name and collects every problem, so that one run reports them all. */
export class EnvironmentReader {
  readonly #environment: NodeJS.ProcessEnv;
  readonly #problems: string[] = [];

  constructor(environment: NodeJS.ProcessEnv) {
    this.#environment = environment;
  }

  /** Records a problem; a duplicate, found when a variable is read again, is reported once. */
  report(problem: string): void {
    if (!this.#problems.includes(problem)) this.#problems.push(problem);
  }

  /** @throws {ConfigurationError} if anything read so far had a problem. */
  throwIfBroken(): void {
    if (this.#problems.length > 0) throw new ConfigurationError(this.#problems);
  }

  /** The value of a variable, its default, or `''` if it has neither, which was reported. */
  text(name: VariableName): string {
    const variable: Variable = VARIABLES[name];
    const value = variable.kind === 'secret' ? this.#secret(name) : this.#environment[name];
    if (value !== undefined && value !== '') {
      if (variable.choices !== undefined && !variable.choices.includes(value)) {
        this.report(`${name}: "${value}" is not one of ${variable.choices.join(', ')}`);
      }
      return value;
    }
    if (variable.fallback === undefined) {
      this.report(`${name} is not set. ${variable.help}`);
      return '';
    }
    return variable.fallback;
  }

  /** A secret from which keys are derived or that grants access: at least 32 characters. */
  longSecret(name: VariableName): string {
    const secret = this.text(name);
    if (secret !== '' && secret.length < LONG_SECRET_CHARACTERS) {
      this.report(`${name} has ${secret.length} characters; it needs at least ${LONG_SECRET_CHARACTERS}`);
    }
    return secret;
  }

  /** Comma-separated secrets, each at least 32 characters long; in a file also one per line. */
  longSecrets(name: VariableName): string[] {
    const secrets = this.text(name)
      .split(/[,\n]/)
      .map((entry) => entry.trim())
      .filter((entry) => entry !== '');
    for (const [position, { length }] of secrets.entries()) {
      if (length >= LONG_SECRET_CHARACTERS) continue;
      this.report(
        `${name}: key ${position + 1} has ${length} characters; each needs at least ${LONG_SECRET_CHARACTERS}`,
      );
    }
    return secrets;
  }

  /** A whole number within the variable's bounds. */
  integer(name: VariableName): number {
    const variable: Variable = VARIABLES[name];
    const text = this.text(name);
    const value = Number(text);
    const minimum = variable.minimum ?? 0;
    const maximum = variable.maximum ?? Number.MAX_SAFE_INTEGER;
    if (!/^\d+$/.test(text) || value < minimum || value > maximum) {
      this.report(`${name}: "${text}" is not a whole number from ${minimum} to ${maximum}`);
    }
    return value;
  }

  /** `true` or `false`, written so or as 1 or 0. */
  boolean(name: VariableName): boolean {
    const text = this.text(name).toLowerCase();
    if (text === 'true' || text === '1') return true;
    if (text !== 'false' && text !== '0') this.report(`${name}: "${text}" is neither true nor false`);
    return false;
  }

  /** Comma-separated entries without whitespace. */
  list(name: VariableName): string[] {
    return this.text(name)
      .split(',')
      .map((entry) => entry.trim())
      .filter((entry) => entry !== '');
  }

  /** Comma-separated whole numbers. */
  integers(name: VariableName): number[] {
    const entries = this.list(name);
    for (const entry of entries) {
      if (!/^\d{1,9}$/.test(entry)) this.report(`${name}: "${entry}" is not a whole number`);
    }
    return entries.map(Number);
  }

  /**
   * The settings of upstreams: every `UPSTREAM_<NAME>_KEY`, `UPSTREAM_<NAME>_KEY_FILE` and `UPSTREAM_<NAME>_URL`, by the
   * lower-case name. A file need not exist yet: it is read again while the process runs.
   */
  upstreams(): UpstreamEnvironment {
    const secrets: Record<string, string> = {};
    const secretFiles: Record<string, string> = {};
    const baseUrls: Record<string, string> = {};
    for (const [variable, value] of Object.entries(this.#environment)) {
      const [, name, kind] = /^UPSTREAM_([A-Z0-9_]+?)_(KEY|KEY_FILE|URL)$/.exec(variable) ?? [];
      if (name === undefined || value === undefined || value === '') continue;
      if (kind === 'KEY') secrets[name.toLowerCase()] = value;
      else if (kind === 'KEY_FILE') secretFiles[name.toLowerCase()] = value;
      else if (isBaseUrl(value)) baseUrls[name.toLowerCase()] = value;
      else this.report(`${variable}: want a URL that begins with http:// or https:// and has no user and no fragment`);
    }
    for (const name of Object.keys(secretFiles).filter((file) => Object.hasOwn(secrets, file))) {
      const variable = `UPSTREAM_${name.toUpperCase()}_KEY`;
      this.report(`${variable} and ${variable}_FILE are both set: set only one`);
    }
    return { secrets, secretFiles, baseUrls };
  }

  #secret(name: string): string | undefined {
    const direct = this.#environment[name];
    const file = this.#environment[`${name}_FILE`];
    if (file === undefined || file === '') return direct;
    if (direct !== undefined && direct !== '') {
      this.report(`${name} and ${name}_FILE are both set: set only one`);
      return direct;
    }
    try {
      const secret = readFileSync(file, 'utf8').trimEnd();
      if (secret === '') this.report(`${name}_FILE: the file is empty`);
      return secret;
    } catch {
      this.report(`${name}_FILE: the file cannot be read`);
      return undefined;
    }
  }
}
