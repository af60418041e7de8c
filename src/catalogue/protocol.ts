/**
 * How model files name an upstream of one protocol. Each directory of src/providers defines its own; the catalogue
 * knows only those that it is given.
 */
import type { TSchema } from 'typebox';
import type { ModelDefinition, Upstream } from './definition.ts';

export interface Protocol {
  /** The value of `protocol`. */
  readonly name: string;
  /** The fields of an upstream that only this protocol has, each with its JSON Schema. */
  readonly fields?: Readonly<Record<string, TSchema>>;
  /** Validates an upstream beyond its form. @returns every problem with its position. */
  problemsOf?(upstream: Upstream): readonly string[];
}

/** @returns every problem of the upstreams with its position. None: each can be called as it is written. */
export function findUpstreamProblems({ routes }: ModelDefinition, protocols: readonly Protocol[]): readonly string[] {
  return Object.entries(routes).flatMap(([route, { upstreams }]) => {
    // Positions are those of the file: the members of a pool are one entry there, and have the same problems.
    const problems = new Set<string>();
    let index = -1;
    let pool: string | undefined;
    for (const upstream of upstreams) {
      if (upstream.pool === undefined || upstream.pool !== pool) index++;
      pool = upstream.pool;
      for (const problem of problemsOf(upstream, protocols)) {
        problems.add(`routes.${route}.upstreams.${index}.${problem}`);
      }
    }
    return [...problems];
  });
}

function problemsOf(upstream: Upstream, protocols: readonly Protocol[]): readonly string[] {
  const own = protocols.find(({ name }) => name === upstream.protocol);
  if (own === undefined) {
    const names = protocols.map(({ name }) => name).join(', ');
    return [`protocol: there is no ${JSON.stringify(upstream.protocol)}, only ${names}`];
  }
  const foreign = protocols.flatMap(({ name, fields = {} }) =>
    name === own.name
      ? []
      : Object.keys(fields).flatMap((field) => (field in upstream ? `${field}: only protocol ${name} has it` : [])),
  );
  return [...foreign, ...(own.problemsOf?.(upstream) ?? [])];
}
