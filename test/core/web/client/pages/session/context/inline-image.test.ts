/** The image in a block of a prompt, in the words of each format. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { inlineImage } from '../../../../../../../core/web/client/pages/session/context/inline-image.ts';

const test = suite('inlineImage');

test('each format of a provider, and what is held of an answer', () => {
  const image = { base64: 'iVBO', type: 'image/png' };
  const url = 'data:image/png;base64,iVBO';
  const blocks: Record<string, unknown> = {
    anthropic: { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBO' } },
    chat: { type: 'image_url', image_url: { url } },
    responses: { type: 'input_image', image_url: url },
    gemini: { inlineData: { mimeType: 'image/png', data: 'iVBO' } },
    'gemini in snake case': { inline_data: { mime_type: 'image/png', data: 'iVBO' } },
    held: { type: 'image', media_type: 'image/png', image_base64: 'iVBO' },
    'ollama, with a head that does not belong there': url,
  };
  for (const [format, json] of Object.entries(blocks)) assert.equal(inlineImage(json), image, format);
  assert.equal(inlineImage('iVBO'), { base64: 'iVBO', type: '' }, 'ollama');
});

test('none is in what is elsewhere, or is no image', () => {
  for (const json of [
    { type: 'image', source: { type: 'url', url: 'https://pictures.example/a.png' } },
    { type: 'input_image', image_url: 'https://pictures.example/a.png' },
    { type: 'image_url', image_url: { url: 'data:image/svg+xml,<svg></svg>' } },
    { fileData: { mimeType: 'image/png', fileUri: 'https://pictures.example/a.png' } },
    { type: 'web_search_call' },
    [],
    null,
    7,
  ])
    assert.is(inlineImage(json), null, JSON.stringify(json));
});

test.run();
