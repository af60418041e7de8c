/**
 * How model files name an upstream of one protocol. Each directory of src/providers defines its own; the catalogue
 * knows only those that it is given.
 */
import type { TSchema } from 'typebox';
import type { ModelDefinition, Upstream } from './definition.ts';
import { findMediaFieldProblem } from './media-proof.ts';

export interface Protocol {
  /** The value of `protocol`. */
  readonly name: string;
  /** The fields of an upstream that only this protocol has, each with its JSON Schema. */
  readonly fields?: Readonly<Record<string, TSchema>>;
  /** Validates the members of an upstream beyond their form. @returns every problem with its position. */
  problemsOf?(upstream: Upstream): readonly string[];
  /**
   * What an upstream lacks as a whole, beyond its form. Where its members come from two files, either could add it.
   *
   * @returns every problem with its position.
   */
  gapsOf?(upstream: Upstream): readonly string[];
  /** The fields of the input whose files the upstream sends itself, by the positions that name them. */
  mediaFieldsOf?(upstream: Upstream): readonly (readonly [position: string, field: string])[];
}

/** What is wrong with an upstream. */
export interface UpstreamProblem {
  readonly route: string;
  /** Of its entry in the file: the members of a pool are one. */
  readonly index: number;
  /** The position in the entry and the reason: `http.jobId: …`. */
  readonly problem: string;
  /**
   * `member`: the member at the position is wrong wherever it comes from; `gap`: the whole lacks something; `input`: the
   * position does not fit the input schema of this model, and may fit those of others.
   */
  readonly kind: 'member' | 'gap' | 'input';
}

/** @returns every problem of the upstreams. None: each can be called as it is written. */
export function findUpstreamProblems(
  { routes, inputSchema }: Pick<ModelDefinition, 'routes' | 'inputSchema'>,
  protocols: readonly Protocol[],
): readonly UpstreamProblem[] {
  return Object.entries(routes).flatMap(([route, { upstreams }]) => {
    // The members of a pool have the same problems.
    const problems = new Map<string, UpstreamProblem>();
    let index = -1;
    let pool: string | undefined;
    for (const upstream of upstreams) {
      if (upstream.pool === undefined || upstream.pool !== pool) index++;
      pool = upstream.pool;
      for (const each of problemsOf(upstream, inputSchema, protocols)) {
        problems.set(`${index}.${each.problem}`, { route, index, ...each });
      }
    }
    return [...problems.values()];
  });
}

/** The problem with its position in the model file. */
export function describeUpstreamProblem({ route, index, problem }: UpstreamProblem): string {
  return `routes.${route}.upstreams.${index}.${problem}`;
}

function problemsOf(
  upstream: Upstream,
  inputSchema: ModelDefinition['inputSchema'],
  protocols: readonly Protocol[],
): readonly Pick<UpstreamProblem, 'problem' | 'kind'>[] {
  const own = protocols.find(({ name }) => name === upstream.protocol);
  if (own === undefined) {
    const names = protocols.map(({ name }) => name).join(', ');
    const problem = `protocol: there is no ${JSON.stringify(upstream.protocol)}, only ${names}`;
    return [{ problem, kind: 'member' }];
  }
  const foreign = protocols.flatMap(({ name, fields = {} }) =>
    name === own.name
      ? []
      : Object.keys(fields).flatMap((field) => (field in upstream ? `${field}: only protocol ${name} has it` : [])),
  );
  const ofMedia = (own.mediaFieldsOf?.(upstream) ?? []).flatMap(([position, field]) => {
    const problem = findMediaFieldProblem(inputSchema, field);
    return problem === undefined ? [] : `${position}: ${problem}`;
  });
  const of = (kind: UpstreamProblem['kind'], problems: readonly string[] = []) =>
    problems.map((problem) => ({ problem, kind }));
  return [
    ...of('member', foreign),
    ...of('member', own.problemsOf?.(upstream)),
    ...of('gap', own.gapsOf?.(upstream)),
    ...of('input', ofMedia),
  ];
}
