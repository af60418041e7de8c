/** What tasks and text calls cost the operator, and the margin that is left. */
import { MarginsQuerySchema, MarginsSchema } from '@darkroom/api/admin/margins';
import { marginsCsv } from '@darkroom/api/facts/margins-csv';
import { readMargins } from '../../billing/task-costs.ts';
import { presentMargins } from '../../presenters/usage.ts';
import type { HttpContext } from '../app/context.ts';
import { defineRoute } from '../app/route.ts';
import type { Route } from '../app/route.ts';
import { requireUsageQuery } from './account.ts';

export function adminMarginRoutes(http: HttpContext): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/admin/margins',
      operationId: 'adminGetMargins',
      tag: 'Administration',
      summary: 'Get costs and margins',
      description:
        'Returns what was captured for tasks and text calls, what they cost the operator, and the margin. What text calls cost is unknown, unless the model is embedded. `GET /admin/costs` lists what providers may bill for work that no account paid; such tasks are part of this report too, so the two are not added up.',
      access: 'operator',
      query: MarginsQuerySchema,
      response: { kind: 'data', schema: MarginsSchema },
      otherResponses: {
        200: { description: 'With `format=csv`: the rows, with a header line.', mimeTypes: ['text/csv'] },
      },
      async handle({ ctx, query: { groupBy, format, ...range } }) {
        const query = { ...requireUsageQuery(http, range), groupBy: groupBy ?? (['model'] as const) };
        const margins = presentMargins(query, await readMargins(http.database, query));
        if (format !== 'csv') return margins;
        ctx.status = 200;
        ctx.type = 'text/csv; charset=utf-8';
        ctx.attachment(`margins-${query.from}-${query.to}.csv`);
        ctx.body = marginsCsv(margins);
        return undefined;
      },
    }),
  ];
}
