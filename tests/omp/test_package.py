# SPDX-License-Identifier: BSD-3-Clause
"""The package as a distribution: version, metadata, and the types of its public names."""

import ast
import importlib.metadata
import inspect
import pathlib
import tomllib

import pytest
import unisono.omp

HERE = pathlib.Path(unisono.omp.__file__).parent
SOURCE = pathlib.Path(__file__).resolve().parents[2] / "python/unisono/omp"


def declared():
    """The names in the stub: functions (all their variants) and everything else."""
    functions, others = {}, set()
    for node in ast.parse((HERE / "__init__.pyi").read_text()).body:
        if isinstance(node, ast.FunctionDef):
            functions.setdefault(node.name, []).append(node)
        elif isinstance(node, ast.ClassDef):
            others.add(node.name)
        elif isinstance(node, ast.AnnAssign):
            others.add(node.target.id)
        elif isinstance(node, ast.Assign):
            others.add(node.targets[0].id)
    return functions, others


def test_the_stub_has_all_public_names_and_no_others():
    functions, others = declared()
    public = {n for n in {*functions, *others} if not n.startswith("_")}
    assert public == set(unisono.omp.__all__) and "__version__" in others and (HERE / "py.typed").exists()


def test_every_signature_is_annotated_and_is_the_real_one():
    functions, _ = declared()
    for name, variants in functions.items():
        for node in variants:
            parameters = [*node.args.posonlyargs, *node.args.args]
            assert node.returns is not None and all(p.annotation for p in parameters), name
        if len(variants) > 1:
            continue
        real = list(inspect.signature(getattr(unisono.omp, name)).parameters)
        assert real == [p.arg for p in parameters], name


def test_functions_in_python_are_annotated_themselves():
    for name in unisono.omp.__all__:
        function = getattr(unisono.omp, name)
        if inspect.isfunction(function):
            signature = inspect.signature(function)
            assert signature.return_annotation is not signature.empty, name
            assert all(p.annotation is not p.empty for p in signature.parameters.values()), name


def test_the_version_is_the_distributions():
    project = tomllib.loads((SOURCE / "pyproject.toml").read_text())["project"]
    assert unisono.omp.__version__ == project["version"]
    assert {"description", "readme", "license", "authors", "keywords", "classifiers", "requires-python"} <= set(project)
    assert (SOURCE / project["readme"]).exists()
    try:
        assert importlib.metadata.version("unisono-omp") == unisono.omp.__version__
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("unisono.omp is not installed as a distribution here")
