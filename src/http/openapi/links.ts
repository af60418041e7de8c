/**
 * Links from an operation that creates something to the operations on it: the id that `POST /v1/files` returns is the
 * one that `/v1/files/{fileId}` takes. Tools follow them.
 */
import type { OpenApiNode } from './parts.ts';
import type { Route } from '../app/route.ts';

/** @returns the links of a route's success, by the operations that they lead to; empty where it creates nothing. */
export function linksOf(route: Route, routes: readonly Route[]): OpenApiNode {
  if (route.method !== 'POST' || route.response.kind !== 'data') return {};
  const { properties = {} } = route.response.schema as { readonly properties?: object };
  const links = routes.flatMap(({ path, operationId }) => {
    const parameter = path.startsWith(`${route.path}/`) ? firstParameter(path.slice(route.path.length + 1)) : undefined;
    if (parameter === undefined) return [];
    const field = [parameter, 'id'].find((name) => name in properties);
    if (field === undefined) return [];
    return [[operationId, { operationId, parameters: { [parameter]: `$response.body#/data/${field}` } }]];
  });
  return Object.fromEntries(links) as OpenApiNode;
}

/** `fileId` of `{fileId}/parts`; undefined where the rest of a path begins with something else. */
function firstParameter(rest: string): string | undefined {
  return /^\{(\w+)\}/.exec(rest)?.[1];
}
