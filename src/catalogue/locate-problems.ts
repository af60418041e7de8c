/**
 * In which file a problem is. An upstream that refers to a provider has members of two files, and what is wrong with a
 * member is reported for the file that it comes from, with its position there.
 */
import { hasMember, isRecord, memberOf } from '../domain/json-members.ts';
import { ModelFileError } from './model-files.ts';
import { describeUpstreamProblem } from './protocol.ts';
import type { UpstreamProblem } from './protocol.ts';
import type { KnownProviders } from './provider-file.ts';

/** A problem with its position in the model file, or of an upstream. */
export type Problem = string | UpstreamProblem;

interface ModelFile {
  readonly file: string;
  /** Its own content. */
  readonly own: unknown;
  readonly providers: KnownProviders;
}

/** @returns the problems with their files. A file of a provider need not fit the input of every model. */
export function locateProblems(problems: readonly Problem[], model: ModelFile): readonly ModelFileError[] {
  return problems.flatMap((problem) => {
    if (typeof problem === 'string') return new ModelFileError(model.file, problem);
    const providerFile = problem.kind === 'gap' ? undefined : findProviderFile(problem, model);
    if (providerFile === undefined) return new ModelFileError(model.file, describeUpstreamProblem(problem));
    return problem.kind === 'input' ? [] : new ModelFileError(providerFile, `upstream.${problem.problem}`);
  });
}

/** The file of the provider, if it is the one that has the member. */
function findProviderFile({ route, index, problem }: UpstreamProblem, model: ModelFile): string | undefined {
  const { own, providers } = model;
  const entry = memberOf(memberOf(memberOf(memberOf(own, 'routes'), route), 'upstreams'), String(index));
  const name = memberOf(entry, 'provider');
  const provider = typeof name === 'string' ? providers.byName.get(name) : undefined;
  if (provider === undefined) return undefined;
  const [position = ''] = problem.split(':', 1);
  return isOfProvider(position.split('.'), entry, provider.upstream) ? providers.files.get(provider.name) : undefined;
}

/** Whether the first step that the model file does not have is in that of the provider. */
function isOfProvider(steps: readonly string[], own: unknown, provided: unknown): boolean {
  let [ofModel, ofProvider] = [own, provided];
  for (const step of steps) {
    if (hasMember(ofModel, step)) {
      ofModel = memberOf(ofModel, step);
      ofProvider = memberOf(ofProvider, step);
      // Anything but an object replaces what the provider has.
      if (!isRecord(ofModel)) return false;
      continue;
    }
    return hasMember(ofProvider, step);
  }
  return false;
}
