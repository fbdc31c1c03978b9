"""How the page looks. Fonts are those of the visitor's system: nothing comes from another host."""

from __future__ import annotations

import gradio as gr

CSS = '''
.gradio-container { max-width: 1240px !important; margin: 0 auto !important; }
#s2-head h1 { margin: 0; font-size: 1.9rem; letter-spacing: -0.02em; }
#s2-head p { margin: 0.25rem 0 0.5rem; color: var(--body-text-color-subdued); font-size: 1.02rem; }
.s2-status { border-radius: 10px; padding: 0.7rem 1rem; font-size: 1rem; line-height: 1.45; overflow-wrap: anywhere;
  border: 1px solid var(--border-color-primary); background: var(--background-fill-secondary);
  color: var(--body-text-color); }
.s2-status.s2-done { border-left: 5px solid #0d9488; }
.s2-status.s2-busy { border-left: 5px solid #d97706; }
.s2-status.s2-fault { border-left: 5px solid #dc2626; }
.s2-point-name { min-height: 1.6em; margin: 0 0 0.4rem; font-weight: 600; color: var(--body-text-color); }
svg.s2-points { display: block; max-width: 100%; max-height: 78vh; margin: 0 auto; touch-action: pan-y;
  border-radius: 8px; cursor: crosshair; }
svg.s2-points circle { fill: transparent; stroke: none; }
svg.s2-points circle.near { fill: #fff; fill-opacity: 0.85; stroke: #e11d48; stroke-width: 2px;
  vector-effect: non-scaling-stroke; }
/* While the next result is on its way, the last one is not to be taken for it. */
.gradio-container:has(.s2-busy) :is(#s2-results, #s2-surface-column, #s2-download) { opacity: 0.3;
  pointer-events: none; }
#s2-fine, #s2-fine p { color: var(--body-text-color-subdued); font-size: 0.9rem; }
#s2-head { padding: 0.25rem 0; }
.s2-hidden, footer { display: none !important; }
'''


def theme() -> gr.themes.Base:
    """Gradio's soft theme in teal."""
    return gr.themes.Soft(
        primary_hue='teal', neutral_hue='slate', font=['system-ui', 'Segoe UI', 'Roboto', 'sans-serif'],
        font_mono=['ui-monospace', 'Menlo', 'Consolas', 'monospace'])
