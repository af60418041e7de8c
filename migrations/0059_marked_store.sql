-- Up Migration

-- When this installation put its mark into its object store (src/objects/stores/claim-store.ts). From then on, a store
-- without it is another one.
ALTER TABLE installation ADD COLUMN store_marked_at timestamptz;
