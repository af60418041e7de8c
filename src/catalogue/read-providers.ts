/** Reads the provider files of some directories. A bad one keeps what it was when it was last good. */
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { TObject } from 'typebox';
import { ModelFileError, isProviderFile, parseModelFile } from './model-files.ts';
import type { ModelTexts } from './model-files.ts';
import { providerFileCheck } from './provider-file.ts';
import type { KnownProviders, ProviderFile } from './provider-file.ts';

interface ReadProviders {
  /** The same object as long as no provider has changed. */
  readonly known: KnownProviders;
  readonly problems: readonly ModelFileError[];
}

/** @param upstreams the forms of an upstream; where several have a member, the last one defines it. */
export function createProviderReader(upstreams: readonly TObject[]): (texts: ModelTexts) => ReadProviders {
  const check = providerFileCheck(upstreams);
  let accepted = new Map<string, { readonly text: string; readonly provider: ProviderFile }>();
  let known: KnownProviders = { byName: new Map(), files: new Map(), invalid: new Set() };
  return (texts) => {
    const problems: ModelFileError[] = [];
    const readable: typeof accepted = new Map();
    const byName = new Map<string, ProviderFile>();
    const files = new Map<string, string>();
    const invalid = new Set<string>();
    for (const [file, text] of texts) {
      if (!isProviderFile(file)) continue;
      const before = accepted.get(file);
      const read = before !== undefined && before.text === text ? before.provider : readProvider(file, text, check);
      const other = read instanceof ModelFileError ? undefined : byName.get(read.name);
      const problem =
        other === undefined ? read : new ModelFileError(file, `name: another provider is called ${other.name}`);
      if (problem instanceof ModelFileError) problems.push(problem);
      const provider = problem instanceof ModelFileError ? before?.provider : problem;
      if (provider === undefined) invalid.add(nameIn(file));
      if (provider === undefined || byName.has(provider.name)) continue;
      readable.set(file, { text: typeof text === 'string' ? text : '', provider });
      byName.set(provider.name, provider);
      files.set(provider.name, file);
    }
    accepted = readable;
    const isSame =
      isDeepStrictEqual(invalid, known.invalid) &&
      isDeepStrictEqual(files, known.files) &&
      [...byName].every(([name, provider]) => known.byName.get(name) === provider);
    if (!isSame) known = { byName, files, invalid };
    return { known, problems };
  };
}

function readProvider(
  file: string,
  text: string | ModelFileError,
  check: ReturnType<typeof providerFileCheck>,
): ProviderFile | ModelFileError {
  if (text instanceof ModelFileError) return text;
  try {
    const provider = check(file, parseModelFile(file, text));
    if (provider instanceof ModelFileError || provider.name === nameIn(file)) return provider;
    return new ModelFileError(file, `name: the provider in this directory is ${nameIn(file)}`);
  } catch (error) {
    if (error instanceof ModelFileError) return error;
    throw error;
  }
}

/** The name that the provider of a file has: that of its directory. */
function nameIn(file: string): string {
  return path.basename(path.dirname(file));
}
