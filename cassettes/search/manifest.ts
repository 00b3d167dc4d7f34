/** The manifest of the search cassette, and its settings. */
import type { Manifest } from '../../core/cassette/contract.ts';

/** The settings in `env.CONFIG`. An empty one means the default of the provider. */
export type SearchConfig = {
  'embedding.provider': 'local' | 'ollama' | 'openai';
  'embedding.target': string;
  'embedding.model': string;
  /** 0: the number of the model. */
  'embedding.dimensions': number;
  'openai.api_key'?: string;
  /** Absent: the main database. */
  'vector_store.target'?: string;
  spans_table: string;
  span_turns_table: string;
  models_folder: string;
};

export const manifest: Manifest = {
  kind: 'svc.cassette/v1',
  cassette: {
    name: 'search',
    version: '1.0.0',
    display_name: 'Search',
    description:
      'Finds calls of a model by what they mean: what was asked and answered in them is embedded in the background and compared with a question',
    license: 'Apache-2.0',
  },
  depends: { core: 'v1', views: ['spans', 'span_turns', 'session_changes'], extensions: ['vector'] },
  bindings: { db: true, core: true, network: true },
  tables: [{ name: 'embedded_spans' }, { name: 'span_embeddings' }],
  config: [
    {
      ...{ key: 'embedding.provider', type: 'string', enum: ['local', 'ollama', 'openai'], default: 'local' },
      description: 'who embeds; local: all-MiniLM-L6-v2 on this machine, without network',
    },
    {
      ...{ key: 'embedding.target', type: 'string', default: '' },
      description:
        'address of the embedder; empty: http://localhost:11434 of ollama, https://api.openai.com/v1 of openai',
    },
    {
      ...{ key: 'embedding.model', type: 'string', default: '' },
      description:
        'its name, of a local one the folder or its name in models_folder; empty: all-MiniLM-L6-v2, embeddinggemma, text-embedding-3-large',
    },
    {
      ...{ key: 'embedding.dimensions', type: 'int', default: 0, min: 0, max: 16_000 },
      description: 'of the vectors, for instance 768; 0: as the model has them, of text-embedding-3-large 1024',
    },
    { key: 'openai.api_key', type: 'string', secret: true, description: 'for the provider openai' },
    {
      ...{ key: 'vector_store.target', type: 'string', secret: true },
      description: 'postgres://… of a database of their own for vectors, of one installation only; empty: the main one',
    },
    {
      ...{ key: 'models_folder', type: 'string', default: '.svc/models' },
      description: 'where local models lie; the default model is made there when it is first needed',
    },
    {
      ...{ key: 'spans_table', type: 'string', default: 'svc_v1.spans' },
      description: 'the view that spans are read from, with the columns of svc_v1.spans',
    },
    {
      ...{ key: 'span_turns_table', type: 'string', default: 'svc_v1.span_turns' },
      description: 'the view that prompts are read from',
    },
  ],
  schedule: { every_seconds: 30, on_change: true },
};
